import { type GuardService, type GuardServiceReply, parseJson } from 'signalbox/plugin';

/** Returns the service of a guard, which the policy always states. @throws Error */
export function needed(service: GuardService | undefined): GuardService {
  if (!service) throw new Error('the guard has no service');
  return service;
}

/** Returns the JSON value of a successful reply; undefined if it is no JSON. @throws Error with the status of any other reply */
export function jsonOf({ status, text }: GuardServiceReply): unknown {
  if (status !== 200) throw new Error(`the service answered with status ${status}`);
  return parseJson(text);
}

/** The headers of a JSON request, with the API key as a bearer token. */
export const jsonHeaders = ({ apiKey }: GuardService): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  accept: 'application/json',
  ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
});

/** Returns the index in UTF-16 units of a text for an index in code points, as Python counts them. */
export function unitsIn(text: string): (codePoints: number) => number {
  // Most texts have no character of two units.
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (index) => index;
  const starts: number[] = [];
  for (let at = 0; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) starts.push(at);
  starts.push(text.length);
  return (index) => starts[index] ?? Number.NaN;
}
