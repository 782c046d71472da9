import type { Operation } from '../core/kinds/operations.ts';
import type { Capability } from '../core/request/capability.ts';

/** A request to a model server for facts about its models. The host adds the address and the key. */
export interface ServerRequest {
  /** The path, which begins with a slash. */
  readonly path: string;
  /** The address before the path: the origin of the provider's base URL, or the whole base URL. */
  readonly below: 'origin' | 'base_url';
  /** The JSON body of a POST request; absent for a GET request. */
  readonly body?: string;
}

/** The facts that a server states about one model. A member that the server does not state is absent. */
export interface ServedFacts {
  /** Tokens of input and output together that the loaded model uses now. */
  readonly contextInUse?: number;
  /** Tokens of input and output together that the server will use. */
  readonly contextWindow?: number;
  /** The most tokens of input and output together that the model supports, whatever the server uses. */
  readonly contextMax?: number;
  /** The number of parameters of the model. */
  readonly parameters?: number;
  readonly capabilities?: readonly Capability[];
  readonly operation?: Operation;
  /** Whether the model fills the gap between two texts, as editors need it to complete code. */
  readonly inserts?: boolean;
  /** The length of a vector, for a model that embeds. */
  readonly dimensions?: number;
  /** Whether another machine runs the model, so that requests leave the server. */
  readonly runsElsewhere?: true;
}

/** A model in a server's list. */
export interface ServedModel extends ServedFacts {
  /** The server's name of the model, which requests send. */
  readonly upstream: string;
  /** Identifies the weights of the model; absent if the server states no identity. */
  readonly digest?: string;
}

export interface ServedList {
  readonly models: readonly ServedModel[];
  /** Whether a model that is not in the list is certainly not served. */
  readonly isComplete: boolean;
}

/** The part of a wire adapter that finds the models of a server that the operator runs. All functions are pure and never throw. */
export interface ModelServerAdapter {
  /** The requests that describe the models. The first request gets the list of models; the others may fail. */
  readonly requests: readonly ServerRequest[];
  /**
   * Reads the list.
   * @param bodies the answers to `requests`, in their order; null for a request that failed
   * @returns null if the first answer is not a list of models
   */
  read(bodies: readonly (string | null)[]): ServedList | null;
  /** The command with which an operator adds a model to the server, without the name of the model; absent if there is no such command. */
  readonly addCommand?: string;
  /** The request for facts that the list lacks, once for each `digest`, and regularly for a model without one; absent if the list has all facts. */
  readonly detail?: {
    request(upstream: string): ServerRequest;
    read(body: string): ServedFacts;
  };
}
