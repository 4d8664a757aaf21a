import { access, constants, readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Clock } from "../apimachinery/clock.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import { loadTrustRoots, type TrustRoot } from "../pki/verify-chain.ts";
import { admissionPluginFilter } from "./admission/admission.ts";
import { checkAuditFiles } from "../audit/audit-backends.ts";
import { openOutsideIdentity, readTokenFile } from "./authentication.ts";
import { openAuthorities, readAuthorities, readState } from "../ca/ca-folder.ts";
import { checkAuthorization } from "./authorization.ts";
import { bindAddressProblem } from "../host/listening.ts";
import { optionText } from "../host/read-text.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import type { HubOptions } from "./hub-options.ts";
import { checkServiceAccountFlags, tokenKeysThere } from "../ca/service-account-issuer.ts";
import { systemRandom } from "../host/system-random.ts";

/**
 * Reads every file of the options, so that a wrong one is reported before anything is created or changed: no data directory, no keys, no
 * opened store. These files are read again where they are used. @throws HubError naming option, value and what is allowed
 */
export async function checkOptions(options: HubOptions, { clock }: { readonly clock: Clock }): Promise<void> {
  const bind = await bindAddressProblem(options.bindAddress);
  if (bind !== undefined) throw new HubError("options", bind);
  await checkDataDir(options.dataDir);
  admissionPluginFilter(options);
  await checkAuthorization(options, clock);
  await checkIdentity(options, clock);
  await checkSigningCa(options, clock);
  await checkAuditFiles(options, clock);
  await checkAuditLogPath(options);
  await checkRevocations(options, clock);
  await checkKubeletCa(options);
}

/** It is also read at each connection to a kubelet. */
async function checkKubeletCa({ kubeletCertificateAuthority: file }: HubOptions): Promise<void> {
  if (file === undefined) return;
  if (!holdsRoots(await optionText("--kubelet-certificate-authority", file))) {
    throw new HubError("options", `--kubelet-certificate-authority: ${file} holds no certificate of a CA in PEM`);
  }
}

function holdsRoots(pem: string): boolean {
  try {
    return loadTrustRoots(pem).length > 0;
  } catch {
    return false;
  }
}

async function checkDataDir(dataDir: string): Promise<void> {
  for (let path = dataDir; ; path = dirname(path)) {
    const found = await stat(path).catch(() => undefined);
    // A path that may not be read is reported when it is written.
    if (found?.isDirectory() === true || (found === undefined && dirname(path) === path)) return;
    if (found !== undefined)
      throw new HubError(
        "options",
        `the hub cannot make the data directory ${resolve(dataDir)}: ${resolve(path)} exists and is not a directory; give a path with --data-dir where this account may make a directory`,
      );
  }
}

async function checkIdentity(options: HubOptions, clock: Clock): Promise<void> {
  if (options.tokenAuthFile !== undefined) await readTokenFile(options.tokenAuthFile);
  const { issuers, audiences } = await checkServiceAccountFlags(options);
  // Its warnings are logged when it is opened for use.
  const identity = await openOutsideIdentity({ ...options, log: () => undefined }, { clock, audiences, issuers });
  identity.close();
}

async function checkSigningCa(
  { clusterSigningCertFile: certFile, clusterSigningKeyFile: keyFile, dataDir }: HubOptions,
  clock: Clock,
): Promise<void> {
  if (certFile === undefined && keyFile === undefined) return;
  try {
    await openAuthorities({ dir: join(dataDir, "pki"), certFile, keyFile, now: clock.now(), random: systemRandom });
  } catch (error) {
    const why =
      error instanceof HubError
        ? error.message
        : systemErrorText(error, { operation: "read", at: `${certFile} or ${keyFile}` });
    throw new HubError("options", `--cluster-signing-cert-file and --cluster-signing-key-file: ${why}`, {
      cause: error,
    });
  }
}

/** The file is created when the log is opened; its folder is not, except in the data directory. */
async function checkAuditLogPath({ auditLogPath: path, dataDir }: HubOptions): Promise<void> {
  if (path === undefined || path === "" || path === "-" || path === "none") return;
  const folder = dirname(resolve(path));
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true)
    throw new HubError("options", `--audit-log-path: ${path} is a folder, not a file: give the path of a file`);
  try {
    if (found !== undefined) return await access(path, constants.W_OK);
    if (folder !== dataDir) await access(join(folder, "."), constants.W_OK);
  } catch (error) {
    throw new HubError("options", `--audit-log-path: ${systemErrorText(error, { operation: "write", at: path })}`, {
      cause: error,
    });
  }
}

/** A list is of this hub if keys verify it that exist before the start: a new hub has signed nothing yet. */
async function checkRevocations(options: HubOptions, clock: Clock): Promise<void> {
  const { revocationsFile: file, dataDir, clusterSigningCertFile: certFile, clusterSigningKeyFile: keyFile } = options;
  if (file === undefined) return;
  const dir = join(dataDir, "pki");
  const { revocationsIn } = await import("../config-files/revocations-from-file.ts");
  const roots = async (): Promise<readonly TrustRoot[]> => {
    if (certFile === undefined && (await isEmpty(dir))) return [];
    const { bundlePem } =
      certFile === undefined
        ? await readAuthorities(dir, (await readState(dir)).state, clock.now())
        : await openAuthorities({ dir, certFile, keyFile, now: clock.now(), random: systemRandom });
    return loadTrustRoots(bundlePem);
  };
  await revocationsIn(file, { keys: () => tokenKeysThere(options, dir), roots });
}

async function isEmpty(dir: string): Promise<boolean> {
  return (await readdir(dir).catch(() => [])).length === 0;
}
