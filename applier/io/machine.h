// Which machine this is: systemd's machine id, keyed for sublite (the id itself
// is confidential, see machine-id(5)). The same on two machines where a disk
// was cloned without a new id, and another after a container's image was
// rebuilt: a hint, nothing more. "" where there is none. Threads: any.
#ifndef SUBLITE_APPLIER_IO_MACHINE_H_
#define SUBLITE_APPLIER_IO_MACHINE_H_

#include <string>

namespace sublite {

// 32 hexadecimal digits.
std::string MachineIdentity();

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_MACHINE_H_
