// Network addresses in PostgreSQL's binary form to its text.
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_NETWORK_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_NETWORK_H_

#include <cstddef>
#include <string>

#include "schema/value_binary_reader.h"

namespace sublite {

// Append the text of what is left of *in; fail *in where that is malformed.

// inet and cidr, which the bytes tell apart: `192.168.0.1`, `192.168.0.0/16`,
// `::ffff:1.2.3.4`. Only cidr prints the length of a whole address.
void AppendInet(BinaryReader* in, std::string* text);

// `08:00:2b:01:02:03`, of `size` bytes.
void AppendMacaddr(BinaryReader* in, std::size_t size, std::string* text);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_NETWORK_H_
