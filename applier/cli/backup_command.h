// `sublite backup FILE`: a consistent, verified copy of the replica while it
// runs.
//
// Durability: when it returns 0, FILE and its name survive power loss; until
// then FILE is what it was before, since the copy is made beside it under
// another name, checked there (integrity_check, the position row), synced and
// then renamed. The copy is one file in SQLite's rollback mode: it can be read
// anywhere, by readers without write permission, too; `sublite run` turns it
// back into write-ahead mode when it is restored, and compares its position
// with the slot, so that a gap is found.
//
// The replica is read as by any reader; sublite goes on meanwhile. Memory:
// SQLite's cache. Returns the exit code: 0; 75 if it was interrupted or the
// replica stays locked; 78 if FILE is there already (unless `force`), cannot be
// written, or the copy is not sound.
#ifndef SUBLITE_APPLIER_CLI_BACKUP_COMMAND_H_
#define SUBLITE_APPLIER_CLI_BACKUP_COMMAND_H_

#include <functional>
#include <ostream>
#include <string>

namespace sublite {

// `stop` is asked often; when it says true the copy is given up.
int BackupCommand(const std::string& database, const std::string& target,
                  bool force, const std::function<bool()>& stop,
                  std::ostream& out, std::ostream& err);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_BACKUP_COMMAND_H_
