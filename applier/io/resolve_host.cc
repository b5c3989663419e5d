#include "applier/io/resolve_host.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

// Shared with the thread, which may outlive the call.
struct Lookup {
  std::string host;
  EventFd done;
  std::mutex mutex;
  int error = 0;                       // guarded by mutex
  std::vector<std::string> addresses;  // guarded by mutex
};

void Run(const std::shared_ptr<Lookup>& lookup) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(lookup->host.c_str(), nullptr, &hints, &found);
  std::vector<std::string> addresses;
  for (const addrinfo* a = found; error == 0 && a != nullptr; a = a->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::find(addresses.begin(), addresses.end(), text) ==
        addresses.end()) {
      addresses.emplace_back(text);
    }
  }
  if (found != nullptr) freeaddrinfo(found);
  {
    const std::lock_guard<std::mutex> lock(lookup->mutex);
    lookup->error = error;
    lookup->addresses = std::move(addresses);
  }
  lookup->done.Set();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ResolveHost(const std::string& host,
                                                     SteadyTime deadline,
                                                     const StopSignal* stop) {
  auto lookup = std::make_shared<Lookup>();
  lookup->host = host;
  try {
    std::thread(Run, lookup).detach();
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError("no thread for a name lookup");
  }
  switch (WaitFor(lookup->done.fd(), POLLIN, deadline, stop)) {
    case Waited::kStopped:
      return absl::CancelledError("stopped while looking up a name");
    case Waited::kTimedOut:
      return absl::UnavailableError(
          absl::StrCat("looking up \"", host, "\": no answer in time"));
    case Waited::kReady:
      break;
  }
  const std::lock_guard<std::mutex> lock(lookup->mutex);
  if (lookup->error != 0 || lookup->addresses.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "looking up \"", host, "\": ",
        lookup->error != 0 ? gai_strerror(lookup->error) : "no address"));
  }
  return lookup->addresses;
}

}  // namespace sublite
