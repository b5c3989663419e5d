// Points applier/log.h at the right place, once, at the start of the process.
//
// auto     the journal, with fields SUBLITE_*, where $JOURNAL_STREAM names
//          standard error; else text
// text     one line on standard error: time, level, message, fields (logfmt)
// json     one JSON object a line on standard error
// journal  the journal, wherever standard error goes; text where there is none
//
// Equal lines are limited (applier/repeat_guard.h), except at level debug.
// Threads: SetUpLog before any other thread starts; Log from any after it.
#ifndef SUBLITE_APPLIER_IO_LOG_SETUP_H_
#define SUBLITE_APPLIER_IO_LOG_SETUP_H_

#include "applier/config.h"

namespace sublite {

void SetUpLog(LogFormat format, LogLevel level);

// True if $JOURNAL_STREAM names the device and inode of standard error.
bool StderrIsJournal();

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LOG_SETUP_H_
