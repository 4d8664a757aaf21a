import type { Client, WatchEvent } from "./client.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { familiesText, histogram, labelText } from "../metrics/family.ts";

/** Counts the requests of the clients inside the hub, mainly those of its controllers. */
export interface ClientMetrics {
  /** The same client, with its calls counted. */
  readonly counted: (client: Client) => Client;
  /** Prometheus text; `host` is the hub's own, as the clients call no other. */
  readonly text: (host: string) => string;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Source: component-base metrics/prometheus/restclient, requestLatency. */
const durationBounds: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/**
 * Counts from zero; `now` in milliseconds of a clock that is not set back. Watches are counted and not timed, as in client-go.
 * Source: client-go tools/metrics, component-base metrics/prometheus/restclient.
 */
export function clientMetrics(now: () => number): ClientMetrics {
  const methods: Readonly<Record<Method, Map<string | number, number>>> = {
    GET: new Map(),
    POST: new Map(),
    PUT: new Map(),
    PATCH: new Map(),
    DELETE: new Map(),
  };
  const add = (method: Method, code: string | number): void => {
    methods[method].set(code, (methods[method].get(code) ?? 0) + 1);
  };
  const durations = histogram({
    name: "rest_client_request_duration_seconds",
    help: "How long calls of the clients inside the hub took, by method and host.",
    bounds: durationBounds,
  });
  // The host is known only when the port is open.
  const took = {
    GET: durations.observerOf("GET"),
    POST: durations.observerOf("POST"),
    PUT: durations.observerOf("PUT"),
    PATCH: durations.observerOf("PATCH"),
    DELETE: durations.observerOf("DELETE"),
  };
  const called = async <T>(method: Method, success: number, call: Promise<T>): Promise<T> => {
    const begun = now();
    try {
      const result = await call;
      add(method, success);
      return result;
    } catch (error) {
      add(method, codeOf(error));
      throw error;
    } finally {
      took[method]((now() - begun) / 1000);
    }
  };
  return {
    counted: (client) => ({
      get: (...args) => called("GET", 200, client.get(...args)),
      list: (...args) => called("GET", 200, client.list(...args)),
      watch: (...args) => countedWatch(client.watch(...args), (code) => add("GET", code)),
      create: (...args) => called("POST", 201, client.create(...args)),
      update: (...args) => called("PUT", 200, client.update(...args)),
      patch: (...args) => called("PATCH", 200, client.patch(...args)),
      delete: (...args) => called("DELETE", 200, client.delete(...args)),
      deleteCollection: (...args) => called("DELETE", 200, client.deleteCollection(...args)),
    }),
    text: (host) =>
      familiesText([
        {
          name: "rest_client_requests_total",
          type: "counter",
          help: "Calls of the clients inside the hub, by status code, method and host.",
          samples: Object.entries(methods).flatMap(([method, codes]) =>
            [...codes].map(([code, count]) => [labelText({ code: String(code), host, method }), count] as const),
          ),
        },
      ]) + durations.text((verb) => labelText({ host, verb })),
  };
}

/** Client-go writes `<error>` where there was no reply. */
function codeOf(error: unknown): string | number {
  return error instanceof StatusError ? error.code : "<error>";
}

/** Counted at its first event, or in place of that its rejection or its end; later events cost nothing. */
function countedWatch<T extends ApiObject>(
  events: AsyncIterable<WatchEvent<T>>,
  count: (code: string | number) => void,
): AsyncIterable<WatchEvent<T>> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = events[Symbol.asyncIterator]();
      let isCounted = false;
      const counted = async (): Promise<IteratorResult<WatchEvent<T>>> => {
        isCounted = true;
        try {
          const first = await iterator.next();
          count(200);
          return first;
        } catch (error) {
          count(codeOf(error));
          throw error;
        }
      };
      return {
        next: () => (isCounted ? iterator.next() : counted()),
        return: async (value) => (await iterator.return?.(value)) ?? { done: true, value },
      };
    },
  };
}
