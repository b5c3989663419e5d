// `sublite init`: prints a commented configuration file.
//
// Every setting is in it, with its meaning, flag and default; what has a
// default is commented out. The text is a valid file as it stands, but for the
// values only the user knows.
#ifndef SUBLITE_APPLIER_CLI_INIT_COMMAND_H_
#define SUBLITE_APPLIER_CLI_INIT_COMMAND_H_

#include <string>

namespace sublite {

std::string InitText();

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_INIT_COMMAND_H_
