// Which row it is that cannot be stored, in words for a log or an event.
//
// ` (row id = 2, kind = 'a')`: the columns of the primary key, or else of the
// replica identity's index, and never any other value of the row; "" for a
// table without either, and where the key was not sent. Long keys are cut.
//
// Pure. Threads: any.
#ifndef SUBLITE_APPLIER_ROW_NAME_H_
#define SUBLITE_APPLIER_ROW_NAME_H_

#include <string>

#include "applier/wire/message.h"
#include "schema/table.h"

namespace sublite {

std::string RowName(const TableShape& shape, Tuple row);
// The row that an insert, an update or a delete speaks of; "" for a truncate.
std::string RowName(const TableShape& shape, const Message& change);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_ROW_NAME_H_
