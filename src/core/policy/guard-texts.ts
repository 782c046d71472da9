/** `input`: what the caller sends to a model. `output`: what the model answers. */
export const GUARD_SIDES = ['input', 'output'] as const;
export type GuardSide = (typeof GUARD_SIDES)[number];

/**
 * Which texts a guard needs together. `message`: the texts of one message; tools, settings and the names of members are windows of their
 * own. `call`: a tool call with its result. `all`: every text of the request, or of a choice of the answer. `form`: the texts of a choice that
 * can have a wanted form, as the model wrote them: its text, and the arguments of each call as one text.
 */
export type GuardWindowKind = 'message' | 'call' | 'all' | 'form';
