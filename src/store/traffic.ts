/** The lengths of buckets. */
export const TRAFFIC_STEPS = ['minute', 'hour', 'day'] as const;
export type TrafficStep = (typeof TRAFFIC_STEPS)[number];

/** The dimensions that traffic is kept by. */
export const TRAFFIC_DIMENSIONS = ['model', 'provider', 'key', 'team', 'task', 'status'] as const;
export type TrafficDimension = (typeof TRAFFIC_DIMENSIONS)[number];
