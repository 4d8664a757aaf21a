/** A request for a certificate that is under way, or answered and not yet laid out. The key is secret. */
export interface PendingRequest {
  /** Which hub it was sent to. */
  readonly origin: string;
  /** Who asks: the bootstrap identity, or the agent itself with the certificate that it has. */
  readonly by: "bootstrap" | "agent";
  /** The name of the CertificateSigningRequest, chosen before it is sent. */
  readonly request: string;
  readonly keyPem: string;
  /** Leaf first, once it is there. */
  readonly certificatePem?: string;
  /** That it was denied, and why, as this agent has last heard. */
  readonly denied?: string;
}

/** What was learned of a hub since its bootstrap kubeconfig was written. */
export interface LearnedTrust {
  /** Which bootstrap kubeconfig is behind. */
  readonly origin: string;
  /** An `https://` URL. */
  readonly server: string;
  readonly caPem: string;
}

/** That the hub has shut the cluster out, as far as this agent has heard. */
export interface ShutOut {
  /** RFC 3339, by this machine's clock. */
  readonly since: string;
  readonly message: string;
}

/** What an agent of a cluster knows of itself from its first moment on. */
export interface RegistrationState {
  readonly clusterName: string;
  readonly agentName: string;
  /** Which bootstrap kubeconfig the credential comes from; absent while there is none. */
  readonly origin?: string;
  /** The address that the hub told in cluster-info when it was last looked at. */
  readonly told?: string;
  readonly learned?: LearnedTrust;
  readonly pending?: PendingRequest;
  readonly shutOut?: ShutOut;
}

/** The text of a state; secret. */
export function registrationStateText(state: RegistrationState): string {
  return `${JSON.stringify(state, undefined, 2)}\n`;
}

/** What a text says, or undefined where it is no state. */
export function readRegistrationState(text: string): RegistrationState | undefined {
  const value = parsed(text);
  if (!isRecord(value)) return undefined;
  const { clusterName, agentName, origin, told } = value;
  if (typeof clusterName !== "string" || typeof agentName !== "string") return undefined;
  const pending = pendingIn(value.pending);
  const learned = learnedIn(value.learned);
  const shutOut = shutOutIn(value.shutOut);
  return {
    clusterName,
    agentName,
    ...(typeof origin === "string" ? { origin } : {}),
    ...(typeof told === "string" ? { told } : {}),
    ...(learned === undefined ? {} : { learned }),
    ...(pending === undefined ? {} : { pending }),
    ...(shutOut === undefined ? {} : { shutOut }),
  };
}

function shutOutIn(value: unknown): ShutOut | undefined {
  if (!isRecord(value)) return undefined;
  const { since, message } = value;
  return typeof since === "string" && typeof message === "string" ? { since, message } : undefined;
}

function learnedIn(value: unknown): LearnedTrust | undefined {
  if (!isRecord(value)) return undefined;
  const { origin, server, caPem } = value;
  if (typeof origin !== "string" || typeof server !== "string" || typeof caPem !== "string") return undefined;
  return { origin, server, caPem };
}

function pendingIn(value: unknown): PendingRequest | undefined {
  if (!isRecord(value)) return undefined;
  const { origin, by, request, keyPem, certificatePem, denied } = value;
  if (typeof origin !== "string" || typeof request !== "string" || typeof keyPem !== "string") return undefined;
  if (by !== "bootstrap" && by !== "agent") return undefined;
  return {
    origin,
    by,
    request,
    keyPem,
    ...(typeof certificatePem === "string" ? { certificatePem } : {}),
    ...(typeof denied === "string" ? { denied } : {}),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Fields = Partial<
  Record<keyof RegistrationState | keyof PendingRequest | keyof LearnedTrust | keyof ShutOut, unknown>
>;

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
