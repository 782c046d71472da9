import { expect, test } from 'bun:test';
import { createCompletion } from '../../../src/dialects/openai-chat/surface.ts';
import { requestFor } from '../../../src/gateway/exchange/endpoint-request.ts';
import type { Upstream } from '../../../src/policy/runtime/upstream.ts';
import { readOn } from '../../support/read-request.ts';

test('a plugin that writes into the extra fields of one request gets an error and changes no other request', () => {
  const { request } = readOn(createCompletion, { model: 'auto', messages: [{ role: 'user', content: 'hi' }] });
  const provider = { passthrough: new Set(['*']) };
  const decision = { facts: { needs: 0 } };
  const unfitted = { request, history: { bearsState: false }, decision };
  const upstream = { model: {}, endpoint: { provider: 'p', capabilities: 0 }, provider } as unknown as Upstream;
  const fitted = () => requestFor(unfitted as unknown as Parameters<typeof requestFor>[0], upstream);
  const { extras, dropped } = fitted();
  expect(() => Object.assign(extras, { of: 'another caller' })).toThrow(TypeError);
  expect(() => Object.assign(dropped, ['of another caller'])).toThrow(TypeError);
  expect(fitted()).toMatchObject({ extras: {}, dropped: [] });
});
