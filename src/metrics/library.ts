// The one place that names the library of the metrics. Its successor, @prometheus-io/client, needs Node 22: once that is the floor, the
// change is here.
export { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
