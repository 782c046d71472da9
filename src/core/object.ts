/** Whether a value of somebody else is an object with members: neither null nor a list. What the members hold is not known by that. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
