import { beforeAll, describe, expect, test } from 'bun:test';
import SwaggerParser from '@apidevtools/swagger-parser';
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ChatRequest } from '../../../src/core/api/chat-request.ts';
import { RouteRequest } from '../../../src/core/api/route-query.ts';
import { FeedbackRequest } from '../../../src/core/decision/feedback.ts';
import * as chatExamples from '../../../src/dialects/openai-chat/examples.ts';
import { answerRoutesOf } from '../../../src/dialects/surface.ts';
import { SURFACES } from '../../../src/dialects/surfaces.ts';
import * as examples from '../../../src/http/docs/request-examples.ts';
import * as payments from '../../../src/http/x402/examples.ts';
import { TopUpRequest, WalletKeyRequest } from '../../../src/http/x402/schemas.ts';
import { everyOperation, operationAnswers } from '../../admin/every-operation.ts';
import { ANSWERS } from '../../support/answer-schemas.ts';
import { OTHER_PATHS, ROUTES } from '../../support/routes.ts';
import { useSignalbox } from '../../support/use.ts';

const OPERATIONS = await everyOperation();
const ANSWER_SCHEMAS = new Map<string, TSchema>([...Object.entries(ANSWERS), ...(await operationAnswers())]);

/** Returns the JSON values of a stream of events. */
const dataIn = (stream: string): unknown[] =>
  [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly examples?: object }>> };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<
          Record<
            string,
            { readonly schema?: { readonly $ref?: string }; readonly example?: unknown; readonly examples?: object }
          >
        >;
      }
    >
  >;
}
interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Returns every example of a successful JSON answer, with the schema that the route declares for it. */
function answerExamples({ paths }: OpenApi): [TSchema, unknown][] {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return operations.flatMap(({ responses }): [TSchema, unknown][] => {
    const { schema, example } = (responses['200'] ?? responses['201'])?.content?.['application/json'] ?? {};
    const name = schema?.$ref?.split('/').at(-1);
    const found = ANSWER_SCHEMAS.get(name ?? '');
    return found ? [[found, example]] : [];
  });
}

let document: OpenApi;

const box = useSignalbox();
beforeAll(async () => {
  document = (await (await fetch(`${box.url}/docs/json`)).json()) as OpenApi;
});

describe('the OpenAPI document', () => {
  test('the document is at /openapi.json and /docs/json, for callers without a key', async () => {
    expect(await (await fetch(`${box.url}/openapi.json`)).json()).toEqual(document);
  });

  test('the description names a header of errors only for dialects that have one', () => {
    const named = [...document.info.description.matchAll(/the answer has the header\s+`(.*?)`/g)].map(
      ([, name]) => name,
    );
    expect(named).toEqual(SURFACES.flatMap(({ requestIdHeader }) => requestIdHeader ?? []));
  });

  test('the document has both formats of errors for routes that clients of several dialects call', () => {
    const shapesOf = (path: string) => {
      const found = JSON.stringify(document.paths[path]?.get?.responses?.['401']);
      return ['ErrorBody', 'MessagesError'].filter((name) => found.includes(`#/components/schemas/${name}"`));
    };
    expect(shapesOf('/v1/models')).toEqual(['ErrorBody', 'MessagesError']);
    expect(shapesOf('/v1/models/{id}')).toEqual(['ErrorBody', 'MessagesError']);
    expect(shapesOf('/admin/models')).toEqual(['ErrorBody']);
  });

  test('is valid 3.1', async () => {
    expect(document.openapi).toBe('3.1.0');
    await SwaggerParser.validate(structuredClone(document) as unknown as Parameters<typeof SwaggerParser.validate>[0]);
  });

  test('the document has every route except its own pages, the console’s, and the second name of /healthz', () => {
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const served = ROUTES.filter(
      ({ path }) =>
        path !== '/' && path !== '/health' && !/^\/(?:docs|console|openapi|llms)/.test(path) && !OTHER_PATHS.has(path),
    ).map(({ method, path }) => `${method.toLowerCase()} ${path.replace(':id', '{id}').replace('*', '{id}')}`);
    expect(documented.sort()).toEqual([...new Set(served)].sort());
  });

  test('the document describes every operation with its errors and with examples of request and answer', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const name = `${method} ${path}`;
        expect(operation.summary, name).toBeTruthy();
        expect(operation.description, name).toBeTruthy();
        const good = operation.responses['200'] ?? operation.responses['201'] ?? operation.responses['101'];
        const [answer] = Object.values(good?.content ?? {});
        expect(answer?.example, name).toBeDefined();
        if (method === 'post' && operation.requestBody)
          expect(Object.keys(operation.requestBody?.content['application/json']?.examples ?? {}), name).not.toEqual([]);
        if (!path.startsWith('/v1') && !path.startsWith('/admin')) continue;
        expect(operation.responses['401']?.content?.['application/json']?.examples, name).toHaveProperty(
          'invalid_api_key',
        );
        expect(operation.responses['500'], name).toBeDefined();
      }
    }
    const chat = document.paths['/v1/chat/completions']?.post;
    expect(chat?.responses['200']?.content?.['text/event-stream']?.example).toContain('data: [DONE]');
    expect(Object.keys(chat?.responses ?? {}).map(Number)).toEqual([
      200, 400, 401, 402, 403, 404, 408, 409, 413, 415, 421, 422, 429, 431, 500, 502, 503, 504,
    ]);
  });

  test('the document’s schemas accept its examples', () => {
    const shown: readonly (readonly [TSchema, unknown])[] = [
      ...Object.values(chatExamples.CHAT_REQUESTS).map(({ value }) => [ChatRequest, value] as const),
      ...Object.values(examples.ROUTE_REQUESTS).map(({ value }) => [RouteRequest, value] as const),
      ...OPERATIONS.flatMap(({ input, examples: own = {} }) =>
        Object.values(own).map(({ value }) => [input!, value] as const),
      ),
      ...Object.values(examples.FEEDBACK_REQUESTS).map(({ value }) => [FeedbackRequest, value] as const),
      ...Object.values(payments.TOP_UP_REQUESTS).map(({ value }) => [TopUpRequest, value] as const),
      ...Object.values(payments.WALLET_KEY_REQUESTS).map(({ value }) => [WalletKeyRequest, value] as const),
      ...answerRoutesOf(SURFACES).flatMap(
        ({
          route: {
            docs: { answer, events },
          },
        }) => [
          [answer.schema, answer.example] as const,
          ...dataIn(events?.example ?? '').map((event) => [events!.schema, event] as const),
        ],
      ),
      ...answerExamples(document),
    ];
    expect(shown.length).toBeGreaterThan(50);
    for (const [schema, value] of shown)
      expect([...Value.Errors(schema, value)].map(({ path, message }) => `${path}: ${message}`)).toEqual([]);
  });
});
