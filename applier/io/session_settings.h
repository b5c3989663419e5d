// What every session on the publisher is set to, whatever ALTER ROLE, ALTER
// DATABASE or postgresql.conf say (CONTRACT.md section 3).
//
// Sent as `-c name=value` in the startup packet's `options`, which beats those
// three, and read back after connecting. Only settings that every server since
// PostgreSQL 10 knows and that need no privilege can stand here: one unknown
// name would make the server refuse the connection.
#ifndef SUBLITE_APPLIER_IO_SESSION_SETTINGS_H_
#define SUBLITE_APPLIER_IO_SESSION_SETTINGS_H_

#include <string_view>

namespace sublite {

struct SessionSetting {
  std::string_view name;
  std::string_view value;  // as the option says it; no spaces
  std::string_view reads;  // as current_setting() gives it back
};

inline constexpr SessionSetting kSessionSettings[] = {
    // The text form of values.
    {"DateStyle", "ISO,YMD", "ISO, YMD"},
    {"IntervalStyle", "iso_8601", "iso_8601"},
    {"TimeZone", "UTC", "UTC"},
    {"extra_float_digits", "3", "3"},
    {"bytea_output", "hex", "hex"},
    {"lc_monetary", "C", "C"},
    {"xmloption", "content", "content"},
    // How names are printed (regclass, format_type) and resolved: nothing but
    // pg_catalog, as PostgreSQL's own subscriber does, so that no function or
    // operator of a user can stand in for a built-in one.
    {"search_path", "", ""},
    {"quote_all_identifiers", "off", "off"},
    {"standard_conforming_strings", "on", "on"},
    // Waiting is sublite's own business; it knows when to stop.
    {"statement_timeout", "0", "0"},
    {"lock_timeout", "0", "0"},
    {"idle_in_transaction_session_timeout", "0", "0"},
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_SESSION_SETTINGS_H_
