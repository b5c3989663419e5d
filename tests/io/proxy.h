// A TCP proxy in front of a server, with the faults of a bad network: it can
// hold everything back without a sign (a cut cable, a lost NAT entry) and it
// can hang up.
//
// Threads: one of its own; the functions may be called from any. Destruction
// closes all connections.
#ifndef SUBLITE_TESTS_IO_PROXY_H_
#define SUBLITE_TESTS_IO_PROXY_H_

#include <atomic>
#include <thread>
#include <vector>

#include "applier/stop_signal.h"

namespace sublite::testing {

class Proxy {
 public:
  // Forwards connections to 127.0.0.1:`to_port`. 0: accepts and never answers.
  explicit Proxy(int to_port);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const { return port_; }
  // Nothing passes while true; both sides' connections stay open.
  void SetPaused(bool paused) { paused_ = paused; }
  // Closes the connections that are there now.
  void HangUp() { hang_up_ = true; }
  int connections() const { return connections_; }

 private:
  struct Pair {
    int client;
    int server;
  };
  void Run();
  void Accept();
  void CloseAll();
  // False if one side has closed.
  static bool Forward(int from, int to);

  const int to_port_;
  int port_ = 0;
  int listener_ = -1;
  StopSignal stop_;
  std::atomic<bool> paused_{false};
  std::atomic<bool> hang_up_{false};
  std::atomic<int> connections_{0};
  std::vector<Pair> pairs_;  // the thread's
  std::thread thread_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_IO_PROXY_H_
