import { RouteAdvice } from './advice.ts';
import { ChatCompletion, ChatCompletionChunk, Platform, StreamError, Usage } from './completion.ts';
import { Decision } from './decision.ts';
import { ErrorBody } from './error.ts';
import { Health, Readiness } from './health.ts';
import { LedgerStatus } from './ledger.ts';
import { Model, ModelList } from './model.ts';
import { PolicyReload, PolicyStatus } from './policy.ts';

/** The schema of every answer, by the name that it has in the API's documentation. */
export const ANSWERS = {
  ChatCompletion,
  ChatCompletionChunk,
  Decision,
  ErrorBody,
  Health,
  LedgerStatus,
  Model,
  ModelList,
  Platform,
  PolicyReload,
  PolicyStatus,
  Readiness,
  RouteAdvice,
  StreamError,
  Usage,
} as const;
