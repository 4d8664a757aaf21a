import type { Clock } from "../apimachinery/clock.ts";
import { badRequest } from "../apimachinery/status.ts";
import type { Query, Reply } from "../apiserver/http-types.ts";
import { isNonce, signedTimePath, signTime } from "../trust/signed-time.ts";
import type { Authorities } from "./ca-folder.ts";

/** Returns the time, signed by each CA together with the nonce of the client; undefined for other paths. The handler throws StatusError BadRequest without a nonce. */
export function signedTime(
  authorities: () => Authorities,
  clock: Clock,
): (path: string, query: Query) => Reply | undefined {
  return (path, query) => {
    if (path !== signedTimePath) return undefined;
    const nonce = query.get("nonce");
    if (!isNonce(nonce)) throw badRequest("nonce must be 22 to 64 characters of base64url, random for each request");
    const body = JSON.stringify(signTime({ nonce, time: clock.now() }, authorities().trusted));
    return { status: 200, contentType: "application/json", body, headers: { "cache-control": "no-store" } };
  };
}
