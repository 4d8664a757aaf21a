import type { Option } from "../command.ts";

/** `--dir`, for every command about kept credentials. */
export const agentFoldersOption: Option = {
  name: "dir",
  kind: "list",
  value: "DIR",
  completes: "directory",
  description:
    "where `pratique request` or `pratique join` has put them; everything up to two folders below counts too, and there may be several (default: /var/lib/pratique for root, else ~/.pratique)",
};
