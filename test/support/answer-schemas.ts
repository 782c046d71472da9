import { AlertList, AlertTest } from '../../src/admin/alerts.ts';
import { ChildKeyList } from '../../src/admin/child-keys.ts';
import { Decision } from '../../src/admin/decision.ts';
import { KeptContent } from '../../src/admin/decision-list.ts';
import { ApiKey, ApiKeyList, ApiKeyStatus, NewApiKey } from '../../src/admin/key-fields.ts';
import { LearningStatus } from '../../src/admin/learning.ts';
import { LedgerAudit, LedgerStatus } from '../../src/admin/ledger.ts';
import { Login, LoginList, Me } from '../../src/admin/logins.ts';
import { Payment, PaymentList } from '../../src/admin/payments.ts';
import { PolicyStatus } from '../../src/admin/policy-answers.ts';
import { PolicyReload } from '../../src/admin/policy-shapes.ts';
import { ClusterStatus, EndpointList, InstanceStatus } from '../../src/admin/status.ts';
import { Subject, SubjectList } from '../../src/admin/subjects.ts';
import { Removal, Team, TeamList } from '../../src/admin/teams.ts';
import { KeyTrail, TrailErasure, TrailReport } from '../../src/admin/trail.ts';
import { AdminUsage, OwnUsage as UsageReport } from '../../src/admin/usage.ts';
import { User, UserList } from '../../src/admin/users.ts';
import { Wallet, WalletList, WalletStatus } from '../../src/admin/wallets.ts';
import { ErrorBody } from '../../src/core/api/error-schema.ts';
import { Platform, PlatformPayment } from '../../src/core/decision/platform.ts';
import {
  ChatCompletion,
  ChatCompletionChunk,
  StreamError,
  Usage,
} from '../../src/dialects/openai-chat/completion-schema.ts';
import { Model, ModelList } from '../../src/dialects/openai-chat/model-schema.ts';
import { ResponseBody, ResponseEvent, ResponsesUsage } from '../../src/dialects/openai-responses/response-schema.ts';
import { Feedback } from '../../src/http/feedback.ts';
import { Health, Readiness } from '../../src/http/health.ts';
import { RouteAdvice } from '../../src/http/schemas/advice.ts';
import { PaymentTerms, WalletKey, WalletTopUp } from '../../src/http/x402/schemas.ts';

/** The schema of every answer, under its name in the API documentation. */
export const ANSWERS = {
  AdminUsage,
  AlertList,
  AlertTest,
  ApiKey,
  ApiKeyList,
  ApiKeyStatus,
  ChatCompletion,
  ChatCompletionChunk,
  ChildKeyList,
  Decision,
  ClusterStatus,
  EndpointList,
  ErrorBody,
  Feedback,
  Health,
  InstanceStatus,
  KeptContent,
  KeyTrail,
  LearningStatus,
  LedgerAudit,
  LedgerStatus,
  Login,
  LoginList,
  Me,
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
  Removal,
  Response: ResponseBody,
  ResponseEvent,
  ResponsesUsage,
  RouteAdvice,
  Subject,
  SubjectList,
  StreamError,
  Team,
  TeamList,
  TrailErasure,
  TrailReport,
  Usage,
  UsageReport,
  User,
  UserList,
  Wallet,
  WalletKey,
  WalletList,
  WalletStatus,
  WalletTopUp,
} as const;
