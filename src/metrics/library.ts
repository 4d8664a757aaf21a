// The only file that imports the metrics library. Its successor, @prometheus-io/client, needs Node 22: once that is the minimum, the
// change is in this file.
export { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
