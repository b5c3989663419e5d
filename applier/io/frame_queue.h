// The bounded queue between the receiver thread and the applier.
//
// Bounded by bytes, except that one frame always fits into an empty queue. The
// producer does not block: it asks how much room there is, and is woken through
// `wake` when there is room again. Frames are handed over by swapping vectors.
//
// Threads: one producer, one consumer. Lifetime: `wake` outlives the queue.
#ifndef SUBLITE_APPLIER_IO_FRAME_QUEUE_H_
#define SUBLITE_APPLIER_IO_FRAME_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "applier/io/wait.h"
#include "applier/publisher.h"
#include "applier/stop_signal.h"

namespace sublite {

class FrameQueue {
 public:
  FrameQueue(std::size_t bytes_max, EventFd* wake)
      : bytes_max_(bytes_max), wake_(wake) {}

  // Producer. Bytes that may be pushed now; 0 if the queue is full, and then
  // `wake` is set once there is room.
  std::size_t Room();
  // Moves all of `*frames` in, and clears it. `bytes` is what they count for.
  void Push(std::vector<Frame>* frames, std::size_t bytes);
  // Whether the producer knows of bytes, or expects them within a moment, that
  // it has not pushed yet. When it no longer does, a waiting consumer returns.
  void SetExpecting(bool expecting);
  // After the last frame. `status` is not OK.
  void Finish(absl::Status status);

  // Consumer: see ReplicationStream::Receive.
  absl::Status Receive(absl::Duration timeout, const StopSignal* stop,
                       std::vector<Frame>* frames);
  bool HasFrames() const { return has_frames_.load(std::memory_order_acquire); }
  // More will come within a moment: a commit had better wait for it.
  bool HasMore() const {
    return HasFrames() || expecting_.load(std::memory_order_acquire);
  }

  // What a frame of `size` bytes counts for.
  static std::size_t Cost(std::size_t size) { return size + 64; }

 private:
  const std::size_t bytes_max_;
  EventFd* const wake_;
  EventFd arrived_;  // readable while there is something to receive
  std::atomic<bool> has_frames_{false};
  std::atomic<bool> expecting_{false};

  std::mutex mutex_;
  std::vector<Frame> frames_;    // guarded by mutex_
  std::size_t bytes_ = 0;        // guarded by mutex_
  bool producer_waits_ = false;  // guarded by mutex_
  bool ceased_ = false;  // guarded by mutex_; expecting_ has just become false
  bool finished_ = false;  // guarded by mutex_
  absl::Status status_;    // guarded by mutex_
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_FRAME_QUEUE_H_
