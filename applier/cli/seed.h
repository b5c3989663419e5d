// `sublite run --seed=FILE`: a missing database is made from a prepared replica
// file, instead of copying all tables.
//
// What is made holds the seed's rows, position and prepared transactions, is a
// replica of its own (a new identity) and has no slot yet: the session looks
// for one, or copies the seed's (session_slot.cc).
//
// Durability: the database appears under its name whole and synced, or not at
// all; it is made in `<database>.seeding`, which one process at a time may do
// and which the next begins anew. Threads: one.
#ifndef SUBLITE_APPLIER_CLI_SEED_H_
#define SUBLITE_APPLIER_CLI_SEED_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace sublite {

// Does nothing where `database` is there. Unavailable while another process
// makes it; FailedPrecondition or DataLoss where only a person can help, with
// what to do; Cancelled when `stop` says true, which is asked often.
absl::Status MakeFromSeed(const std::string& seed, const std::string& database,
                          const std::function<bool()>& stop);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_SEED_H_
