// Stands in for node:https in a program that is to be killed at each of its steps: before a call, and when it is sent.
import type { ClientRequest } from "node:http";
import https, { type RequestOptions } from "node:https";
import { step } from "./steps.ts";

export const Agent: typeof https.Agent = https.Agent;
export const createServer: typeof https.createServer = https.createServer;

export function request(options: RequestOptions): ClientRequest {
  const what = `${options.method ?? "GET"} ${String(options.path).replace(/[?].*/, "")}`;
  step(what);
  const call = https.request(options);
  call.once("finish", () => step(`${what}, sent`));
  return call;
}
