import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newAccessKey } from "../../../test/kits/access-object.ts";
import { refuse, startFakeHub, type FakeHub } from "../../../test/kits/fake-hub.ts";
import { hastyClock } from "../../../test/kits/hasty-clock.ts";
import { sshPublicKeyOf } from "../../pki/ssh-public-key.ts";
import { accessFolder } from "../../credentials/storage/access-folder.ts";
import { accessKey } from "./access-key.ts";
import type { JoinEvent } from "../join/join-event.ts";
import { privateFiles } from "../../host/private-files.ts";
import { requestAccess } from "./request-access.ts";

describe("a request on an API that stamps no status by itself, as kube-apiserver, before its controller has looked at it", () => {
  let dir: string;
  let hub: FakeHub;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-request-"));
    hub = await startFakeHub();
  });

  afterEach(async () => {
    await hub.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** The API has a request of this public key from the first attempt to create one on. */
  function holding(pubKey: string): void {
    let isThere = false;
    hub.intercept = ({ url, method }, response) => {
      if (url?.includes("accessrequests") !== true) return false;
      const isTaken = method === "POST" && isThere;
      isThere ||= method === "POST";
      const kinds = { apiVersion: "access.pratique.dev/v1alpha1", kind: "AccessRequest" };
      if (isTaken) refuse(response, 409, "AlreadyExists", "no");
      else if (!isThere) refuse(response, 404, "NotFound", "no");
      else response.end(JSON.stringify({ ...kinds, metadata: { name: "n1", uid: "u" }, spec: { pubKey } }));
      return true;
    };
  }

  async function asked(): Promise<{ readonly events: readonly JoinEvent[]; readonly error: unknown }> {
    const events: JoinEvent[] = [];
    const options = {
      endpoint: hub.url,
      pins: [hub.ca.pin],
      name: "n1",
      hostname: "n1",
      dir,
      waitMs: 0,
      discoveryTimeoutMs: 10_000,
      clock: hastyClock(),
      random: (size: number): Uint8Array => randomBytes(size),
      userAgent: "test",
    };
    const error: unknown = await requestAccess(options, (event) => void events.push(event)).catch((e: unknown) => e);
    return { events, error };
  }

  test("is resumed by the machine whose key it holds", async () => {
    const { public: own } = await accessKey(accessFolder(dir, undefined, privateFiles), {
      isOwn: false,
      comment: "n1",
    });
    holding(`${own.text} n1`);
    expect(await asked()).toMatchObject({ error: { code: "timeout-waiting" } });
    const again = await asked();
    expect(again.error).toMatchObject({ code: "timeout-waiting" });
    expect(again.events).toContainEqual(expect.objectContaining({ kind: "access-asked", name: "n1", found: true }));
  });

  test("is refused to a machine of another key", async () => {
    holding(sshPublicKeyOf(newAccessKey(), "n1").text);
    expect(await asked()).toMatchObject({ error: { code: "timeout-waiting" } });
    expect(await asked()).toMatchObject({ error: { code: "csr-conflict" } });
  });
});
