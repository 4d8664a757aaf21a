import { randomBytes } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JoinEvent } from "../../src/agent/join/join-event.ts";
import { requestAccess, type AccessGranted } from "../../src/agent/access/request-access.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { isReady, isRefusedFor, startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { pratiqueAs, type Ran } from "../kits/pratique-as.ts";
import { eventually } from "../kits/peers-process.ts";
import { skippingClock } from "../kits/skipping-clock.ts";

let stage: AccessStage;

beforeAll(async () => {
  stage = await startAccessStage();
});

afterAll(() => stage.close());

const pratique = (who: string, ...words: readonly string[]): Promise<Ran> => pratiqueAs(stage.hub, who, words);

/** The Events of a reason about an object. */
async function eventsAbout(name: string, reason: string): Promise<readonly ApiObject[]> {
  const selector = encodeURIComponent(`involvedObject.name=${name},reason=${reason}`);
  const reply = await stage.admin(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
  return reply.object()["items"] as readonly ApiObject[];
}

async function metric(controller: string, reason: string): Promise<number> {
  const { text } = await stage.admin("/metrics");
  const found = new RegExp(
    `^pratique_controller_events_total\\{controller="${controller}",reason="${reason}"\\} (\\d+)$`,
    "m",
  ).exec(text);
  return Number(found?.[1] ?? 0);
}

interface Machine {
  readonly events: JoinEvent[];
  readonly granted: Promise<AccessGranted>;
}

const waitMs = 60_000;

async function machine(name: string, profile: string, { now }: Pick<Clock, "now"> = wallClock): Promise<Machine> {
  const dir = await mkdtemp(join(stage.hub.dir, `${name}-`));
  const events: JoinEvent[] = [];
  const sleep = wallClock.sleep;
  const granted = requestAccess(
    {
      endpoint: stage.hub.url,
      pins: [],
      profile,
      name,
      hostname: name,
      dir,
      waitMs,
      discoveryTimeoutMs: 10_000,
      clock: { now, sleep: (ms, signal) => sleep(ms <= 2000 ? Math.min(ms, 50) : ms, signal) },
      random: (size) => randomBytes(size),
      userAgent: "test",
    },
    (event) => void events.push(event),
  );
  granted.catch(() => undefined);
  await eventually("the request", async () => events.find(({ kind }) => kind === "waiting-for-access"));
  return { events, granted };
}

describe("a profile whose namespace does not exist", () => {
  it("says so itself, to approvers before they approve, to who approves, to the machine, in pending, Event, log and metric", async () => {
    await stage.profile("lost", { namespace: "nowhere", roles: [{ kind: "ClusterRole", name: "viewer" }] });
    const ready = await eventually("a condition of the profile", async () => {
      const { status } = (await stage.admin(`${stage.profiles}/lost`)).object() as ApiObject & {
        readonly status?: { readonly conditions?: readonly object[] };
      };
      return status?.conditions?.[0];
    });
    expect(ready).toMatchObject({ type: "Ready", status: "False", reason: "ProfileNamespaceMissing" });

    const { events, granted } = await machine("vm-lost", "lost");
    const before = await pratique("ada", "pending");
    expect(before.out).toContain(
      'asks for profile "lost", which grants nothing as it is (ProfileNamespaceMissing): namespace "nowhere" does not exist',
    );
    const approved = await pratique("ada", "approve", "accessrequest/vm-lost");
    expect(approved.code).toBe(1);
    expect(approved.out).toContain("accessrequest/vm-lost approved\n");
    expect(approved.err).toContain(
      'error: access request "vm-lost" was approved, and access cannot be issued yet (ProfileNamespaceMissing): namespace "nowhere" of profile "lost" does not exist; create it (kubectl create namespace nowhere), or change the profile\n',
    );
    const after = await pratique("ada", "pending");
    expect(after.out).toMatch(/^! +accessrequest\/vm-lost .* 1 of 1 /m);
    expect(after.out).toContain("was approved, and access cannot be issued (ProfileNamespaceMissing): ");

    const reportedTexts = await eventually("the machine to hear of it", async () =>
      events.find(({ kind }) => kind === "access-blocked"),
    );
    expect(reportedTexts).toMatchObject({ name: "vm-lost", reason: "ProfileNamespaceMissing" });
    const event = await eventually(
      "the Event",
      async () => (await eventsAbout("vm-lost", "ProfileNamespaceMissing"))[0],
    );
    expect(event).toMatchObject({
      type: "Warning",
      involvedObject: { kind: "AccessRequest", name: "vm-lost" },
      count: 1,
    });
    await expect
      .poll(() => stage.hub.log)
      .toContainEqual(
        expect.objectContaining({
          level: "warn",
          controller: "access-request",
          reason: "ProfileNamespaceMissing",
          object: "AccessRequest/vm-lost",
          user: "ada",
        }),
      );
    await expect.poll(() => metric("access-request", "ProfileNamespaceMissing")).toBe(1);
    await expect.poll(() => metric("access-profile", "ProfileNamespaceMissing")).toBe(1);

    // Nobody has to do anything about the request once what was missing is there.
    await stage.admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "nowhere" } } });
    expect((await granted).name).toBe("vm-lost");
    expect((await pratique("ada", "pending")).out).not.toContain("vm-lost");
    const profile = async (): Promise<ApiObject> => (await stage.admin(`${stage.profiles}/lost`)).object();
    // Another controller than that of requests says so, in its own time.
    await expect
      .poll(async () => (await profile())["status"])
      .toMatchObject({ conditions: [{ type: "Ready", status: "True", reason: "ProfileReady" }] });
    expect((await profile()).metadata.generation).toBe(1);
  });

  it("is told to a machine whose time is up as well, which is not that nobody has answered", async () => {
    await stage.profile("void", { namespace: "void" });
    const clock = skippingClock();
    const { events, granted } = await machine("vm-void", "void", clock);
    await pratique("ada", "approve", "accessrequest/vm-void");
    await eventually("the machine to hear of it", async () => events.find(({ kind }) => kind === "access-blocked"));
    clock.skip(waitMs);
    await expect(granted).rejects.toMatchObject({
      code: "timeout-waiting",
      message: expect.stringContaining(
        'the request vm-void was approved, and access cannot be issued yet (ProfileNamespaceMissing): namespace "void"',
      ) as unknown,
    });
  });
});

describe("a profile whose role was deleted", () => {
  it("issues nothing, leaves no bootstrap token behind, and issues once the role is there", async () => {
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    const role = { metadata: { name: "fleeting" }, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] };
    await stage.admin(roles, { method: "POST", body: role });
    const spec = { namespace: "vms", roles: [{ kind: "ClusterRole", name: "fleeting" }], bootstrapToken: {} };
    expect((await stage.profile("fleeting", spec)).status).toBe(201);
    await stage.admin(`${roles}/fleeting`, { method: "DELETE" });
    const asked = await stage.ask("vm-role", { spec: { profile: "fleeting" } });
    expect(asked.status).toBe(201);
    await stage.decide("vm-role", { accepted: true });
    const { status } = await stage.until("vm-role", isRefusedFor("ProfileRoleMissing"));
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "Issued",
        status: "False",
        message: 'role "fleeting" of profile "fleeting" does not exist; create it, or change the profile',
      }),
    );
    const secrets = (await stage.admin("/api/v1/namespaces/kube-system/secrets")).object()["items"] as ApiObject[];
    expect(secrets.filter(({ metadata }) => metadata.name?.startsWith("bootstrap-token-"))).toEqual([]);
    await stage.admin(roles, { method: "POST", body: role });
    await stage.until("vm-role", isReady);
  });
});

describe("two profiles that are marked as default", () => {
  const mark = "access.pratique.dev/is-default-profile";
  const conflictOf = async (name: string): Promise<unknown> => {
    const profile = (await stage.admin(`${stage.profiles}/${name}`)).object();
    const { conditions = [] } = (profile["status"] ?? {}) as { readonly conditions?: readonly { type: string }[] };
    return conditions.find(({ type }) => type === "DefaultConflict");
  };

  it("each have a condition, an Event and a log line that say which one is the default, until one mark is removed", async () => {
    const made = await stage.profile("pods-too", { namespace: "vms" }, { [mark]: "true" });
    expect(made.status).toBe(201);
    const message = (also: string): string =>
      `2 AccessProfiles are marked as default: an access request that names no profile is for "pods", the first by name; remove the annotation ${mark} from all but one (also marked: "${also}")`;
    for (const [name, also] of [
      ["pods", "pods-too"],
      ["pods-too", "pods"],
    ] as const) {
      await expect
        .poll(async () => conflictOf(name))
        .toMatchObject({ status: "True", reason: "ProfileDefaultAmbiguous", message: message(also) });
      await expect
        .poll(async () => eventsAbout(name, "ProfileDefaultAmbiguous"))
        .toMatchObject([{ type: "Warning", message: message(also) }]);
    }
    expect(stage.hub.log).toContainEqual(
      expect.objectContaining({ level: "warn", reason: "ProfileDefaultAmbiguous", message: message("pods-too") }),
    );

    const patch = [{ op: "remove", path: `/metadata/annotations/${mark.replace("/", "~1")}` }];
    const type = "application/json-patch+json";
    const removed = await stage.admin(`${stage.profiles}/pods-too`, { method: "PATCH", body: patch, type });
    expect(removed.status).toBe(200);
    for (const name of ["pods", "pods-too"]) await expect.poll(async () => conflictOf(name)).toBeUndefined();
  });

  it("are no conflict any more when one of them is deleted", async () => {
    expect((await stage.profile("pods-again", { namespace: "vms" }, { [mark]: "true" })).status).toBe(201);
    await expect.poll(async () => conflictOf("pods")).toMatchObject({ reason: "ProfileDefaultAmbiguous" });
    await stage.admin(`${stage.profiles}/pods-again`, { method: "DELETE" });
    await expect.poll(async () => conflictOf("pods")).toBeUndefined();
  });
});
