// A VFS for SQLite that loses power and fails on demand.
//
// It stands in front of SQLite's own VFS, counts what SQLite does, and keeps
// for each database, WAL and journal file what a sync has seen, and the writes
// since. Install makes it the default of the process, so the code under test
// opens its files through it without knowing.
//
//   FaultVfs& vfs = FaultVfs::Install();
//   vfs.SetFault({FaultVfs::kWrite, 7, SQLITE_FULL, false});  // the 7th write
//   vfs.PowerOff();   // from now on nothing reaches the files
//   ... destroy every connection ...
//   vfs.PowerLoss(&random);  // unsynced writes are kept or lost one by one
//
// A sync that fails loses what it should have made durable, as Linux does: a
// later sync says OK without it. Deleting a file counts as durable at once.
// Nothing is really synced, so tests are quick. Threads: one.
#ifndef SUBLITE_TESTS_SUPPORT_FAULT_VFS_H_
#define SUBLITE_TESTS_SUPPORT_FAULT_VFS_H_

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace sublite::testing {

class FaultVfs {
 public:
  enum Operation : unsigned {
    kOpen = 1,
    kWrite = 2,  // and truncate
    kSync = 4,
    kAny = 7,
  };

  struct Fault {
    unsigned operations = kAny;
    std::int64_t nth = 0;  // from 1, counted from SetFault; 0: none
    int code = 0;          // SQLITE_FULL, SQLITE_IOERR_WRITE, …
    bool forever = false;  // and every later one
  };

  static FaultVfs& Install();

  // Forgets every file, fault and count. No file may be open.
  void Reset();

  void SetFault(const Fault& fault);
  void ClearFault() { fault_ = Fault(); }
  bool fault_hit() const { return fault_hit_; }

  // Every operation fails and changes nothing until PowerLoss.
  void PowerOff() { power_ = false; }
  // Power goes off in the middle of the nth (from 1) write or sync from now.
  void PowerOffAt(std::int64_t nth);
  bool powered() const { return power_; }
  // What stands in the files afterwards is what was synced, and of each write
  // since then all, a part or nothing, as `random` decides; with null nothing.
  // Power is on again. No file may be open.
  void PowerLoss(std::mt19937_64* random);

  // Writes what would certainly survive a power loss right now as `path`,
  // `path`-wal and so on, for `from`, `from`-wal, ….
  void SaveDurable(const std::string& from, const std::string& path) const;

  std::int64_t writes() const { return writes_; }
  std::int64_t syncs() const { return syncs_; }

  // For the C functions behind it.
  struct Write {
    std::int64_t offset = 0;
    std::string data;
    bool truncates = false;  // to `offset`
  };
  struct File {
    std::string durable;
    std::vector<Write> pending;
  };
  // SQLITE_OK, or the code to fail with.
  int Begin(Operation operation);
  File* Track(const std::string& path);
  void Forget(const std::string& path) { files_.erase(path); }
  void OnSyncFailed(File* file) { file->pending.clear(); }

 private:
  std::map<std::string, File> files_;
  Fault fault_;
  std::int64_t seen_ = 0;
  bool fault_hit_ = false;
  bool power_ = true;
  std::int64_t power_off_in_ = 0;
  std::int64_t writes_ = 0;
  std::int64_t syncs_ = 0;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_FAULT_VFS_H_
