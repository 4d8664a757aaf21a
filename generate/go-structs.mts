import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A field of a Go struct, from its declaration and tags. */
export interface GoField {
  /** The key in JSON; undefined where the fields of the type stand in the parent. */
  readonly json: string | undefined;
  readonly type: string;
  /** The protobuf field number; absent where the field has none. */
  readonly number?: number;
  readonly pointer: boolean;
  /** In protobuf each element stands by itself. */
  readonly repeated: boolean;
  /** JSON leaves it out when it is zero. */
  readonly omitEmpty: boolean;
}

/** The struct types of a Go package by name. */
export type GoPackage = ReadonlyMap<string, readonly GoField[]>;

const struct = /^type (\w+) struct \{$(.*?)^\}$/gms;
const member = /^\t(?:(\w+)[ \t]+)?([*[\]\w.]+)[ \t]+`([^`]*)`/gm;
const generated = /^(?:zz_generated|generated)|_generated\.go$|_test\.go$/;

/** Reads the struct types that the files of a Go package declare, without those that are generated. */
export function readGoPackage(folder: string): GoPackage {
  const structs = new Map<string, readonly GoField[]>();
  for (const file of readdirSync(folder)) {
    if (!file.endsWith(".go") || generated.test(file)) continue;
    for (const [, name = "", body = ""] of readFileSync(join(folder, file), "utf8").matchAll(struct)) {
      structs.set(
        name,
        [...body.matchAll(member)].flatMap(([, , type = "", tags = ""]) => goField(type, tags)),
      );
    }
  }
  return structs;
}

function goField(declared: string, tags: string): readonly GoField[] {
  const [key, ...options] = tagOf(tags, "json").split(",");
  if (key === "-") return [];
  const [, number, label] = /^\w+,(\d+),(\w+)/.exec(tagOf(tags, "protobuf")) ?? [];
  const field: GoField = {
    json: options.includes("inline") ? undefined : key,
    type: declared.replace(/^\*/, ""),
    pointer: declared.startsWith("*"),
    repeated: label === "rep",
    omitEmpty: options.includes("omitempty"),
    ...(number === undefined ? {} : { number: Number(number) }),
  };
  return field.json === "" ? [] : [field];
}

function tagOf(tags: string, name: string): string {
  return new RegExp(`(?:^|\\s)${name}:"([^"]*)"`).exec(tags)?.[1] ?? "";
}
