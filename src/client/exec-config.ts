import { dirname, isAbsolute, join } from "node:path";
import type { YamlObject, YamlValue } from "../serializer/yaml/bounded-yaml.ts";
import { isObject, KubeconfigError, own, textList, wrongType } from "./kubeconfig-fields.ts";

/** When a credential plugin gets the terminal. */
export type InteractiveMode = "Never" | "IfAvailable" | "Always";

/** The credential plugin that a kubeconfig names. @see client-go tools/clientcmd/api ExecConfig */
export interface ExecConfig {
  /** File and field, for messages. */
  readonly where: string;
  readonly apiVersion: string;
  /** A name that is looked up in PATH, or a path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** May be empty. */
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: InteractiveMode;
}

const versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const;
const modes: readonly string[] = ["Never", "IfAvailable", "Always"] satisfies readonly InteractiveMode[];

/**
 * The `exec` of a user. A command with a slash is relative to the folder of `file`, any other is a name for PATH; without
 * `interactiveMode` v1beta1 means IfAvailable, and v1 is rejected. @throws KubeconfigError @see client-go tools/clientcmd/validation.go
 */
export function readExecConfig(
  exec: YamlValue,
  at: { readonly where: string; readonly file: string },
): ExecConfig | undefined {
  const where = `${at.where}.exec`;
  if (exec === null) return undefined;
  if (!isObject(exec)) throw wrongType(where, "a mapping");
  const command = text(exec, "command", where);
  if (command === "") throw new KubeconfigError("missing", `${where}.command is not set`);
  const apiVersion = text(exec, "apiVersion", where);
  return {
    where,
    apiVersion: requireVersion(apiVersion, where),
    command: resolvedCommand(command, at.file),
    args: textList(own(exec, "args"), `${where}.args`),
    env: variables(own(exec, "env"), `${where}.env`),
    installHint: text(exec, "installHint", where),
    provideClusterInfo: flag(exec, "provideClusterInfo", where),
    interactiveMode: modeOf(text(exec, "interactiveMode", where), apiVersion, where),
  };
}

function requireVersion(apiVersion: string, where: string): string {
  if ((versions as readonly string[]).includes(apiVersion)) return apiVersion;
  const given = apiVersion === "" ? "is not set" : `${JSON.stringify(apiVersion)} is not supported`;
  throw new KubeconfigError(
    "unsupported",
    `${where}.apiVersion ${given}: it must be ${versions.join(" or ")}; write a new kubeconfig with a current version of the plugin`,
  );
}

function modeOf(mode: string, apiVersion: string, where: string): InteractiveMode {
  if (modes.includes(mode)) return mode as InteractiveMode;
  if (mode === "" && apiVersion !== versions[0]) return "IfAvailable";
  const given = mode === "" ? "is not set" : `is ${JSON.stringify(mode)}`;
  throw new KubeconfigError("bad-value", `${where}.interactiveMode ${given}: it must be ${modes.join(", ")}`);
}

/** A name must never become the file of that name beside the kubeconfig, nor the other way round. */
function resolvedCommand(command: string, file: string): string {
  if (!command.includes("/") || isAbsolute(command)) return command;
  const path = join(dirname(file), command);
  return path.includes("/") ? path : `./${path}`;
}

function variables(value: YamlValue | undefined, where: string): ExecConfig["env"] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(where, "a list of name and value");
  return (value as readonly YamlValue[]).map((item) => {
    if (!isObject(item)) throw wrongType(where, "a list of name and value");
    const name = text(item, "name", where);
    // The limits of execve: no NUL anywhere, and no `=` in a name.
    if (name === "" || /[=\0]/.test(name)) {
      throw new KubeconfigError("bad-value", `${where} holds an environment variable without a usable name`);
    }
    return { name, value: text(item, "value", where) };
  });
}

function text(record: YamlObject, field: string, where: string): string {
  const value = own(record, field) ?? "";
  if (typeof value !== "string" || value.includes("\0")) throw wrongType(`${where}.${field}`, "text");
  return value;
}

function flag(record: YamlObject, field: string, where: string): boolean {
  const value = own(record, field) ?? false;
  if (typeof value !== "boolean") throw wrongType(`${where}.${field}`, "true or false");
  return value;
}
