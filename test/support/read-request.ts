import type { AnswerRoute } from '../../src/dialects/surface.ts';

/** Reads a body on a route, which gets its model from the body. */
export const readOn = (route: AnswerRoute, body: unknown, headers = new Headers()): ReturnType<AnswerRoute['read']> =>
  route.read({ body, headers, params: {}, query: '' });
