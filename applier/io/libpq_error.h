// What an error of the server or of libpq means for sublite: the status code
// (who acts next), in words, with the mend where one is known.
//
// Pure functions of texts. Code by SQLSTATE, never by message text, which the
// server may have translated; text only for what has no SQLSTATE, which is what
// libpq itself says (in English: sublite never calls setlocale). Texts are
// expected to be scrubbed of secrets afterwards by who knows them (Conninfo).
//
// Threads: any.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_ERROR_H_
#define SUBLITE_APPLIER_IO_LIBPQ_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sublite {

struct ServerError {
  std::string sqlstate;  // "" if there is none: the connection is lost
  std::string message;
  std::string detail;
  std::string hint;
};

// Unavailable, FailedPrecondition, …, by the class and the code.
absl::StatusCode CodeForSqlState(std::string_view sqlstate);

// `doing` says what was tried: "reading the slot". The SQLSTATE can be had back
// with SqlState.
absl::Status StatusFromServer(const ServerError& error, std::string_view doing);

// The SQLSTATE that a status of this file carries, or "".
std::string SqlState(const absl::Status& status);

// The connection itself is gone (or never was): nothing more can be asked on
// it.
absl::Status ConnectionLost(std::string_view message, std::string_view doing);
bool IsConnectionLost(const absl::Status& status);

struct ConnectFailure {
  std::string message;  // PQerrorMessage of a connection that was asked for
                        // verbose errors, so that SQLSTATEs are in it
  bool needs_password = false;      // PQconnectionNeedsPassword
  bool sslmode_is_default = false;  // verify-full is sublite's own choice
  bool clock_is_wrong =
      false;  // the wall clock is before this program was made
};

absl::Status StatusFromConnect(const ConnectFailure& failure);

// The SQLSTATE in a verbose message ("FATAL:  28P01: password …"), or "".
std::string SqlStateInMessage(std::string_view message);

// A libpq message on one line, without source locations, SQLSTATE and blanks.
std::string OneLine(std::string_view message);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_ERROR_H_
