import type { JsonObject } from "../apimachinery/json-value.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { RequestSource } from "../apis/resource.ts";

/** Who asks, when, and on which terms; the same for a request over the network and for a controller inside the hub. */
export interface RequestContext {
  readonly user: UserInfo;
  /** Who was authenticated, where `user` is somebody whom it impersonates. */
  readonly impersonator?: UserInfo;
  /** The other end of the connection; absent inside the hub. */
  readonly source?: RequestSource;
  /** Milliseconds since the epoch, read once when the request began. */
  readonly now: number;
  /** Everything but storing. */
  readonly dryRun: boolean;
  /** What was sent is large: it is worked on in parts. */
  readonly isLarge?: boolean;
  /** Adds a Warning header to the reply; duplicates are merged by whoever sends them. */
  readonly warn: (text: string) => void;
  /** Who the fields that are written belong to: the `fieldManager` of the query, else the first word of the user agent. */
  readonly fieldManager: string;
  /** What the query said about a create or an update, in the fields of CreateOptions and UpdateOptions; admission is told. */
  readonly options?: JsonObject;
  /** Adds an annotation to the audit event of the request; the first value of a key stays. */
  readonly annotate: (key: string, value: string) => void;
}
