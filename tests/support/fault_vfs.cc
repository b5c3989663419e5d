#include "tests/support/fault_vfs.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace sublite::testing {
namespace {

FaultVfs* g_vfs = nullptr;
sqlite3_vfs* g_real = nullptr;

struct FaultFile {
  sqlite3_file base;
  FaultVfs::File* tracked;  // null for temporary files
  // The real file follows.
};

sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) +
                                         sizeof(FaultFile));
}

FaultVfs::File* Tracked(sqlite3_file* file) {
  return reinterpret_cast<FaultFile*>(file)->tracked;
}

void ApplyWrite(const FaultVfs::Write& write, std::size_t kept,
                std::string* image) {
  const auto offset = static_cast<std::size_t>(write.offset);
  if (write.truncates) {
    if (image->size() > offset) image->resize(offset);
    return;
  }
  if (image->size() < offset + kept) image->resize(offset + kept);
  image->replace(offset, kept, write.data, 0, kept);
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// ------------------------------------------------------------------ one file

int Close(sqlite3_file* file) {
  return Real(file)->pMethods->xClose(Real(file));
}

int Read(sqlite3_file* file, void* data, int amount, sqlite3_int64 offset) {
  if (!g_vfs->powered()) return SQLITE_IOERR_READ;
  return Real(file)->pMethods->xRead(Real(file), data, amount, offset);
}

int WriteSome(sqlite3_file* file, const void* data, int amount,
              sqlite3_int64 offset) {
  if (amount == 0) return SQLITE_OK;
  if (Tracked(file) != nullptr) {
    Tracked(file)->pending.push_back(
        {offset,
         std::string(static_cast<const char*>(data),
                     static_cast<std::size_t>(amount)),
         false});
  }
  return Real(file)->pMethods->xWrite(Real(file), data, amount, offset);
}

int Write(sqlite3_file* file, const void* data, int amount,
          sqlite3_int64 offset) {
  const bool powered = g_vfs->powered();
  const int code = g_vfs->Begin(FaultVfs::kWrite);
  if (code == SQLITE_OK) return WriteSome(file, data, amount, offset);
  // What fails may have been done in part.
  if (powered) WriteSome(file, data, amount / 2, offset);
  return code;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  const int code = g_vfs->Begin(FaultVfs::kWrite);
  if (code != SQLITE_OK) return code;
  if (Tracked(file) != nullptr) {
    Tracked(file)->pending.push_back({size, "", true});
  }
  return Real(file)->pMethods->xTruncate(Real(file), size);
}

int Sync(sqlite3_file* file, int) {
  const bool powered = g_vfs->powered();
  const int code = g_vfs->Begin(FaultVfs::kSync);
  FaultVfs::File* tracked = Tracked(file);
  if (tracked == nullptr) return code;
  if (code == SQLITE_OK) {
    for (const FaultVfs::Write& write : tracked->pending) {
      ApplyWrite(write, write.data.size(), &tracked->durable);
    }
    tracked->pending.clear();
  } else if (powered && g_vfs->powered()) {
    g_vfs->OnSyncFailed(tracked);
  }
  return code;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  if (!g_vfs->powered()) return SQLITE_IOERR_FSTAT;
  return Real(file)->pMethods->xFileSize(Real(file), size);
}

int Lock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xLock(Real(file), level);
}
int Unlock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xUnlock(Real(file), level);
}
int CheckReservedLock(sqlite3_file* file, int* result) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), result);
}
int FileControl(sqlite3_file* file, int operation, void* argument) {
  return Real(file)->pMethods->xFileControl(Real(file), operation, argument);
}
int SectorSize(sqlite3_file* file) {
  return Real(file)->pMethods->xSectorSize(Real(file));
}
int DeviceCharacteristics(sqlite3_file*) { return 0; }
int ShmMap(sqlite3_file* file, int page, int size, int extend,
           void volatile** mapped) {
  return Real(file)->pMethods->xShmMap(Real(file), page, size, extend, mapped);
}
int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, n, flags);
}
void ShmBarrier(sqlite3_file* file) {
  Real(file)->pMethods->xShmBarrier(Real(file));
}
int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->pMethods->xShmUnmap(Real(file), remove);
}

const sqlite3_io_methods kMethods = {
    2,
    Close,
    Read,
    Write,
    Truncate,
    Sync,
    FileSize,
    Lock,
    Unlock,
    CheckReservedLock,
    FileControl,
    SectorSize,
    DeviceCharacteristics,
    ShmMap,
    ShmLock,
    ShmBarrier,
    ShmUnmap,
    nullptr,
    nullptr,
};

// ------------------------------------------------------------------- the VFS

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags,
         int* out_flags) {
  file->pMethods = nullptr;
  const int code = g_vfs->Begin(FaultVfs::kOpen);
  if (code != SQLITE_OK) return code;
  constexpr int kKept =
      SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
  auto* fault_file = reinterpret_cast<FaultFile*>(file);
  fault_file->tracked =
      (flags & kKept) != 0 && name != nullptr ? g_vfs->Track(name) : nullptr;
  const int opened = g_real->xOpen(g_real, name, Real(file), flags, out_flags);
  if (opened == SQLITE_OK) file->pMethods = &kMethods;
  return opened;
}

int Delete(sqlite3_vfs*, const char* name, int) {
  if (!g_vfs->powered()) return SQLITE_IOERR_DELETE;
  const int code = g_real->xDelete(g_real, name, 0);
  if (code == SQLITE_OK) g_vfs->Forget(name);
  return code;
}

int Access(sqlite3_vfs*, const char* name, int flags, int* result) {
  return g_real->xAccess(g_real, name, flags, result);
}

int FullPathname(sqlite3_vfs*, const char* name, int size, char* out) {
  return g_real->xFullPathname(g_real, name, size, out);
}

}  // namespace

FaultVfs& FaultVfs::Install() {
  if (g_vfs != nullptr) return *g_vfs;
  g_vfs = new FaultVfs();
  g_real = sqlite3_vfs_find(nullptr);
  auto* vfs = new sqlite3_vfs(*g_real);
  vfs->szOsFile = static_cast<int>(sizeof(FaultFile)) + g_real->szOsFile;
  vfs->pNext = nullptr;
  vfs->zName = "sublite-fault";
  vfs->xOpen = Open;
  vfs->xDelete = Delete;
  vfs->xAccess = Access;
  vfs->xFullPathname = FullPathname;
  if (sqlite3_vfs_register(vfs, 1) != SQLITE_OK) std::abort();
  return *g_vfs;
}

void FaultVfs::Reset() { *this = FaultVfs(); }

void FaultVfs::SetFault(const Fault& fault) {
  fault_ = fault;
  seen_ = 0;
  fault_hit_ = false;
}

void FaultVfs::PowerOffAt(std::int64_t nth) { power_off_in_ = nth; }

int FaultVfs::Begin(Operation operation) {
  if (!power_) return SQLITE_IOERR;
  if (operation == kWrite) ++writes_;
  if (operation == kSync) ++syncs_;
  if (operation != kOpen && power_off_in_ > 0 && --power_off_in_ == 0) {
    power_ = false;
    return SQLITE_IOERR;
  }
  if ((fault_.operations & operation) == 0 || fault_.nth == 0) return SQLITE_OK;
  ++seen_;
  const bool hit = fault_.forever ? seen_ >= fault_.nth : seen_ == fault_.nth;
  if (!hit) return SQLITE_OK;
  fault_hit_ = true;
  return operation == kSync ? SQLITE_IOERR_FSYNC : fault_.code;
}

FaultVfs::File* FaultVfs::Track(const std::string& path) {
  const auto found = files_.find(path);
  if (found != files_.end()) return &found->second;
  File& file = files_[path];
  file.durable = ReadFile(path);
  return &file;
}

void FaultVfs::PowerLoss(std::mt19937_64* random) {
  for (auto& [path, file] : files_) {
    for (const Write& write : file.pending) {
      std::size_t kept = 0;
      if (random != nullptr) {
        const auto chance = (*random)() % 4;
        if (chance < 2) continue;
        // Whole sectors, in an order of the device's own.
        kept = chance == 2 ? write.data.size() : write.data.size() / 1024 * 512;
        ApplyWrite(write, kept, &file.durable);
      }
    }
    file.pending.clear();
    WriteFile(path, file.durable);
    unlink((path + "-shm").c_str());
  }
  power_ = true;
  power_off_in_ = 0;
}

void FaultVfs::SaveDurable(const std::string& from,
                           const std::string& path) const {
  // Files are known by the names that SQLite gives them.
  std::string full(static_cast<std::size_t>(g_real->mxPathname) + 1, '\0');
  g_real->xFullPathname(g_real, from.c_str(), g_real->mxPathname, full.data());
  full.resize(std::strlen(full.c_str()));
  for (const auto& [name, file] : files_) {
    if (name.compare(0, full.size(), full) != 0) continue;
    WriteFile(path + name.substr(full.size()), file.durable);
  }
  unlink((path + "-shm").c_str());
}

}  // namespace sublite::testing
