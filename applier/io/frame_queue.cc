#include "applier/io/frame_queue.h"

#include <poll.h>

#include <iterator>
#include <utility>

namespace sublite {

std::size_t FrameQueue::Room() {
  const std::lock_guard<std::mutex> lock(mutex_);
  producer_waits_ = bytes_ >= bytes_max_;
  return producer_waits_ ? 0 : bytes_max_ - bytes_;
}

void FrameQueue::Push(std::vector<Frame>* frames, std::size_t bytes) {
  if (frames->empty()) return;
  bool was_empty = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    was_empty = frames_.empty();
    if (was_empty) {
      frames_.swap(*frames);
    } else {
      frames_.insert(frames_.end(), std::make_move_iterator(frames->begin()),
                     std::make_move_iterator(frames->end()));
    }
    bytes_ += bytes;
    has_frames_.store(true, std::memory_order_release);
  }
  frames->clear();
  if (was_empty) arrived_.Set();
}

void FrameQueue::SetExpecting(bool expecting) {
  if (expecting_.exchange(expecting, std::memory_order_acq_rel) == expecting ||
      expecting)
    return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ceased_ = true;
  }
  arrived_.Set();
}

void FrameQueue::Finish(absl::Status status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
    status_ = std::move(status);
    expecting_.store(false, std::memory_order_release);
  }
  arrived_.Set();
}

absl::Status FrameQueue::Receive(absl::Duration timeout, const StopSignal* stop,
                                 std::vector<Frame>* frames) {
  const SteadyTime deadline = SteadyIn(timeout);
  while (true) {
    if (stop != nullptr && stop->requested()) {
      return absl::CancelledError("stopped while receiving");
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!frames_.empty()) {
        if (frames->empty()) {
          frames->swap(frames_);
        } else {
          frames->insert(frames->end(),
                         std::make_move_iterator(frames_.begin()),
                         std::make_move_iterator(frames_.end()));
        }
        frames_.clear();
        bytes_ = 0;
        has_frames_.store(false, std::memory_order_release);
        ceased_ = false;
        if (!finished_) arrived_.Clear();
        if (producer_waits_) wake_->Set();
        producer_waits_ = false;
        return absl::OkStatus();
      }
      if (finished_) return status_;
      if (ceased_) {
        ceased_ = false;
        arrived_.Clear();
        return absl::OkStatus();
      }
    }
    if (WaitFor(arrived_.fd(), POLLIN, deadline, stop) == Waited::kTimedOut) {
      return absl::OkStatus();
    }
  }
}

}  // namespace sublite
