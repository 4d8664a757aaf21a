import { createSecureContext } from "node:tls";
import { bindAddressProblem } from "../../host/listening.ts";
import { readText, type NamedFiles } from "../../host/read-text.ts";
import { loadTrustRoots } from "../../pki/verify-chain.ts";
import { OptionError } from "../../apimachinery/option-error.ts";

/** How a program serves HTTPS with a certificate of its own, as its flags say. The last four name files. */
export interface SecureServing {
  readonly bindAddress: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Where the CA is kept that is made for the serving certificate. */
  readonly certDir: string;
  /** More names and addresses for that certificate. */
  readonly tlsSans: readonly string[];
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The CA of the certificate in `certFile`. */
  readonly caFile: string | undefined;
  /** Clients must show a certificate of this CA; absent: all are answered. */
  readonly clientCaFile: string | undefined;
}

/** Reads what the serving options name, before anything is made in `certDir`. @throws OptionError usage, naming option and value */
export async function checkServing(serving: SecureServing, files: NamedFiles): Promise<void> {
  const bind = await bindAddressProblem(serving.bindAddress);
  if (bind !== undefined) throw new OptionError("usage", bind);
  await checkPair(serving, files);
  const { caFile, clientCaFile } = serving;
  for (const [option, file] of [
    ["tls-ca-file", caFile],
    ["client-ca-file", clientCaFile],
  ] as const) {
    if (file !== undefined) checkCertificates(option, file, await readText(option, file, files));
  }
}

/** The CA of `--client-ca-file`. @throws OptionError usage */
export async function clientCaOf({ clientCaFile }: SecureServing, files: NamedFiles): Promise<string | undefined> {
  return clientCaFile === undefined ? undefined : readText("client-ca-file", clientCaFile, files);
}

async function checkPair({ certFile, keyFile }: SecureServing, files: NamedFiles): Promise<void> {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new OptionError("usage", "--tls-cert-file and --tls-private-key-file come together");
  }
  if (certFile === undefined || keyFile === undefined) return;
  const cert = await readText("tls-cert-file", certFile, files);
  const key = await readText("tls-private-key-file", keyFile, files);
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new OptionError(
      "usage",
      `--tls-cert-file ${certFile} and --tls-private-key-file ${keyFile} hold no certificate and key in PEM that belong together`,
    );
  }
}

function checkCertificates(option: string, file: string, pem: string): void {
  try {
    if (loadTrustRoots(pem).length > 0) return;
  } catch (error) {
    throw new OptionError("usage", `--${option} ${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
  throw new OptionError("usage", `--${option} ${file}: holds no certificate in PEM`);
}
