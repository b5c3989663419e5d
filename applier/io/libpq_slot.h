// Making, looking at and dropping a logical replication slot.
//
// Making one waits for every transaction that runs at that moment, prepared
// ones too. If it does not come to its end here (stop, error), no slot is left:
// the server drops one that is half made when its session ends or is
// cancelled, and one that became complete meanwhile is dropped.
//
// Errors: as Publisher::CreateSlot and DropSlot. Threads: as Connection.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_SLOT_H_
#define SUBLITE_APPLIER_IO_LIBPQ_SLOT_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/io/libpq_connection.h"
#include "applier/publisher.h"

namespace sublite {

// FailedPrecondition if the server would not take the name. To be asked before
// a name goes into a replication command, whose grammar knows no way to write a
// quote inside of quotes.
absl::Status CheckSlotName(const std::string& name);

// exists == false if there is no such slot.
absl::StatusOr<SlotState> ReadSlotState(Connection& ordinary,
                                        const std::string& name);

// Neither session may be in a transaction: the slot would wait for it.
absl::StatusOr<CreatedSlot> MakeSlot(
    Connection& replication, Connection& ordinary, const SlotOptions& options,
    const std::function<void(std::string_view)>& on_wait);

// Server 17 and later; on the primary.
absl::Status EnableSlotFailover(Connection& replication,
                                const std::string& name);

// Server 12 and later.
absl::Status CopySlotByName(Connection& ordinary, const std::string& from,
                            const std::string& to);

absl::Status DropSlotByName(Connection& ordinary, const std::string& name,
                            const WaitLimits& limits = {});

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_SLOT_H_
