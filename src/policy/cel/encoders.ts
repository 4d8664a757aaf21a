import type { CelFunction } from "./environment.ts";
import { passCost } from "./sizes.ts";
import { bytesType, stringType } from "./types.ts";
import { celFailure, type CelFailure } from "./values.ts";

const form = /^[A-Za-z0-9+/]*={0,2}$/;

/** The padding may be left out; nothing else may. */
function decode(text: string): Uint8Array | CelFailure {
  const unpadded = text.replace(/=+$/, "");
  const padded = text.length === unpadded.length || text.length % 4 === 0;
  if (!form.test(text) || !padded || unpadded.length % 4 === 1) return celFailure("illegal base64 data");
  return Uint8Array.from(Buffer.from(text, "base64"));
}

/** The extension `base64`. */
export const encoders: readonly CelFunction[] = [
  {
    name: "base64.encode",
    overloads: [
      {
        args: [bytesType],
        result: stringType,
        cost: passCost,
        apply: (bytes: Uint8Array) => Buffer.from(bytes).toString("base64"),
      },
    ],
  },
  { name: "base64.decode", overloads: [{ args: [stringType], result: bytesType, cost: passCost, apply: decode }] },
];
