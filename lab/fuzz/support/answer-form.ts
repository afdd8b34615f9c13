import assert from 'node:assert/strict';
import type { LightMyRequestResponse } from 'fastify';
import { ERRORS } from '../../../src/errors.ts';

/** Asserts that an answer is a success or a refusal in the documented form: never a failure of our own. */
export function checkForm(
  { statusCode, headers, body }: LightMyRequestResponse,
  besides: readonly number[] = []
): void {
  if (statusCode < 400) return;
  assert.ok(statusCode < 500 || besides.includes(statusCode), `answered ${statusCode}: ${body.slice(0, 200)}`);
  if (body === '') return;
  assert.match(String(headers['content-type']), /^application\/json/);
  const { error, code, ...more } = JSON.parse(body) as Record<string, unknown>;
  assert.ok(typeof error === 'string' && error !== '' && error.length < 4_000, body.slice(0, 200));
  assert.deepEqual(more, {});
  assert.ok(code === undefined || Object.hasOwn(ERRORS, String(code)), String(code));
}
