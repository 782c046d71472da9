import { expect, test } from 'bun:test';
import { preflightRefusal } from '../../src/http/cors.ts';
import { ROUTE_TABLE } from '../support/routes.ts';

test('the server logs at most a hundred refused origins, each once', () => {
  const logged: unknown[] = [];
  const refuse = preflightRefusal({ warn: (_, fields) => logged.push(fields?.origin) });
  const route = ROUTE_TABLE.find('/v1/models')!;
  for (let at = 0; at < 300; at++) {
    const origin = `https://page-${at % 150}.example`;
    const headers = { origin, 'access-control-request-method': 'GET' };
    const request = new Request('http://gateway.example/v1/models', { method: 'OPTIONS', headers });
    expect(() => refuse(request, route)).toThrow('gateway.cors.origins');
  }
  expect(logged).toEqual(Array.from({ length: 100 }, (_, at) => `https://page-${at}.example`));
});
