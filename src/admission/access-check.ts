import type { UserInfo } from "../apimachinery/user.ts";

/** Something a user wants to do, beside the request that is being admitted; `*` stands for any. */
export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Asks the authorizers; `reason` is theirs. */
export type AccessCheck = (access: Access) => Promise<{ readonly allowed: boolean; readonly reason: string }>;
