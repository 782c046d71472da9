import type { ModelRequest } from '../../core/request/model-request.ts';

/** The parts of a request that the profile reads. */
export type ProfileInput = Pick<ModelRequest, 'conversation' | 'settings' | 'originalAt'>;
