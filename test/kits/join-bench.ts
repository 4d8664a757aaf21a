import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { join } from "../../src/agent/join/join.ts";
import { JoinError } from "../../src/credentials/join-error.ts";
import type { JoinEvent } from "../../src/agent/join/join-event.ts";
import type { Discovery, Joined, JoinOptions } from "../../src/agent/join/join-options.ts";
import { formatToken, type BootstrapToken } from "../../src/trust/token.ts";
import type { FakeHub } from "./fake-hub.ts";
import { hastyClock } from "./hasty-clock.ts";

/** The token that fake hubs know. */
export const testToken: BootstrapToken = { id: "abcdef", secret: "0123456789abcdef" };

/** A machine with folders of its own that joins again and again. */
export interface JoinBench {
  readonly dir: string;
  readonly certDir: string;
  readonly kubeconfig: string;
  /** The events of the last join. */
  readonly events: JoinEvent[];
  join(hub: FakeHub, options?: JoinOverrides): Promise<Joined>;
  /** The error of a join that must fail. */
  failure(hub: FakeHub, options?: JoinOverrides): Promise<JoinError>;
  remove(): Promise<void>;
}

export interface JoinOverrides extends Partial<Omit<JoinOptions, "discovery">> {
  readonly discovery?: Discovery;
  /** Changes to the token discovery of the hub. */
  readonly token?: Partial<Extract<Discovery, { readonly kind: "token" }>>;
  readonly onEvent?: (event: JoinEvent) => void;
}

/** Makes the machine, in a folder of the system for passing files. */
export async function joinBench(): Promise<JoinBench> {
  const dir = await mkdtemp(joinPath(tmpdir(), "pratique-join-"));
  const certDir = joinPath(dir, "pki");
  const kubeconfig = joinPath(dir, "etc", "kubelet.conf");
  const events: JoinEvent[] = [];

  async function run(hub: FakeHub, options: JoinOverrides = {}): Promise<Joined> {
    const { token, discovery, onEvent, ...others } = options;
    events.length = 0;
    const wanted = discovery ?? { ...tokenDiscoveryOf(hub), ...token };
    const all = { nodeName: "n1", certDir, kubeconfig, clock: hastyClock(), ...others, discovery: wanted };
    return join(all, (event) => {
      events.push(event);
      onEvent?.(event);
    });
  }

  return {
    dir,
    certDir,
    kubeconfig,
    events,
    join: run,
    failure: async (hub, options) => failureOf(run(hub, options)),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** How to find this hub by its token and pin. */
export function tokenDiscoveryOf(hub: FakeHub): Extract<Discovery, { readonly kind: "token" }> {
  return { kind: "token", endpoint: hub.endpoint, token: formatToken(testToken), pins: [hub.ca.pin] };
}

/** The JoinError with which the promise rejects; anything else fails the test. */
export async function failureOf(promise: Promise<unknown>): Promise<JoinError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof JoinError) return error;
    throw error;
  }
  throw new TypeError("the join did not fail");
}
