import { readClusterCredential, type ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { fingerprintOf } from "../../credentials/request/cluster-certificate-request.ts";
import type { KlusterletStore } from "../../credentials/storage/klusterlet-store.ts";
import {
  readRegistrationState,
  type RegistrationState,
  type Rejection,
} from "../../credentials/storage/registration-state.ts";

/** The stored state of a registration; no secret. Times in milliseconds since the epoch. */
export interface KlusterletStatus {
  readonly cluster: string;
  /** For the approver to compare. */
  readonly agent: string;
  readonly place: string;
  readonly server?: string | undefined;
  readonly certificate?: { readonly expiresAt: number } | undefined;
  /** A pending request. */
  readonly request?:
    | { readonly name: string; readonly fingerprint: string; readonly denied?: string | undefined }
    | undefined;
  /** Since when, in RFC 3339, and why the hub denies the cluster, as last read by the agent. */
  readonly shutOut?: Rejection | undefined;
  /** Whether there is a valid certificate, and the hub is not known to deny the cluster. */
  readonly good: boolean;
}

/** Sends no request; undefined where nothing is stored. */
export async function klusterletStatus(store: KlusterletStore, now: number): Promise<KlusterletStatus | undefined> {
  const state = readRegistrationState(await store.readState());
  const credential = readClusterCredential(await store.readCredential());
  const names = state ?? namesIn(credential);
  if (names === undefined) return undefined;
  const { clusterName: cluster, agentName: agent } = names;
  const isValid = credential !== undefined && credential.notAfter > now && credential.identity.agent === agent;
  const rejection = state?.shutOut;
  return {
    cluster,
    agent,
    place: store.place,
    ...certificateOf(credential),
    ...requestOf(state),
    ...(rejection && { shutOut: rejection }),
    good: isValid && rejection === undefined,
  };
}

function namesIn(
  credential: ClusterCredential | undefined,
): Pick<RegistrationState, "clusterName" | "agentName"> | undefined {
  return credential && { clusterName: credential.identity.cluster, agentName: credential.identity.agent };
}

function certificateOf(credential: ClusterCredential | undefined): Pick<KlusterletStatus, "server" | "certificate"> {
  return credential === undefined
    ? {}
    : { server: credential.hub.server, certificate: { expiresAt: credential.notAfter } };
}

function requestOf(state: RegistrationState | undefined): Pick<KlusterletStatus, "request"> {
  const pending = state?.pending;
  if (pending === undefined) return {};
  const { request: name, keyPem, denied } = pending;
  return { request: { name, fingerprint: fingerprintOf(keyPem), denied } };
}
