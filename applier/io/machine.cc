#include "applier/io/machine.h"

#include <systemd/sd-id128.h>

namespace sublite {
namespace {

// Made once with `systemd-id128 new`; changing it makes every machine look new.
constexpr sd_id128_t kApplication = SD_ID128_ARRAY(
    5b, 1e, 0d, 9c, 7a, 42, 4f, 0e, 9f, 2b, 63, 18, c4, d7, a5, 30);

}  // namespace

std::string MachineIdentity() {
  sd_id128_t id = SD_ID128_NULL;
  if (sd_id128_get_machine_app_specific(kApplication, &id) < 0)
    return std::string();
  char text[SD_ID128_STRING_MAX];
  return sd_id128_to_string(id, text);
}

}  // namespace sublite
