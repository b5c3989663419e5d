-- Nothing happens, until the server asks whether the client is still there.
--
-- capture: request since=14 proto_version=1 wait_for_request=on
CREATE PUBLICATION golden;

-- slot
