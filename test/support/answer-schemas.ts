import { RouteAdvice } from '../../src/http/schemas/advice.ts';
import { KeptContent } from '../../src/http/schemas/content.ts';
import { Decision } from '../../src/http/schemas/decision.ts';
import { Feedback } from '../../src/http/schemas/feedback.ts';
import { Health, Readiness } from '../../src/http/schemas/health.ts';
import { ApiKey, ApiKeyList, ApiKeyStatus, KeyTrail, NewApiKey } from '../../src/http/schemas/keys.ts';
import { LedgerStatus } from '../../src/http/schemas/ledger.ts';
import { Model, ModelList } from '../../src/http/schemas/model.ts';
import { PolicyReload, PolicyStatus } from '../../src/http/schemas/policy.ts';
import { EndpointList, LearningStatus } from '../../src/http/schemas/status.ts';
import { AdminUsage, UsageReport } from '../../src/http/schemas/usage.ts';
import {
  Payment,
  PaymentList,
  PaymentTerms,
  Wallet,
  WalletKey,
  WalletStatus,
  WalletTopUp,
} from '../../src/http/x402/schemas.ts';
import {
  ChatCompletion,
  ChatCompletionChunk,
  StreamError,
  Usage,
} from '../../src/surface/openai-chat/completion-schema.ts';
import { ErrorBody } from '../../src/surface/openai-chat/error-schema.ts';
import { Platform, PlatformPayment } from '../../src/surface/schemas/platform.ts';

/** The schema of every answer, by the name that it has in the API's documentation. */
export const ANSWERS = {
  AdminUsage,
  ApiKey,
  ApiKeyList,
  ApiKeyStatus,
  ChatCompletion,
  ChatCompletionChunk,
  Decision,
  EndpointList,
  ErrorBody,
  Feedback,
  Health,
  KeptContent,
  KeyTrail,
  LearningStatus,
  LedgerStatus,
  Model,
  ModelList,
  NewApiKey,
  Payment,
  PaymentList,
  PaymentTerms,
  Platform,
  PlatformPayment,
  PolicyReload,
  PolicyStatus,
  Readiness,
  RouteAdvice,
  StreamError,
  Usage,
  UsageReport,
  Wallet,
  WalletKey,
  WalletStatus,
  WalletTopUp,
} as const;
