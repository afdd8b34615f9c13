/** The codes of JSON-RPC's own table and of the specification's. @see https://www.jsonrpc.org/specification#error_object */
export const RPC_CODES = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  UNAUTHORIZED: -32001,
  OPERATIONAL: -32010,
  RATE_LIMITED: -32029
} as const;
export type RpcCode = keyof typeof RPC_CODES;
