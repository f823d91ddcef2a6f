<?php
// A client of Tillgate in plain PHP, without packages: one function for each kind of request, and the rules of docs/erp-guide.md.
declare(strict_types=1);

final class Tillgate
{
    public function __construct(private string $baseUrl, private string $apiKey)
    {
    }

    /** A call that does something. The Idempotency-Key makes a repeat harmless; after a broken connection the same request is sent again. */
    public function post(string $path, string $key, array $body, array $headers = [], int $timeoutS = 315): array
    {
        $headers = ["Idempotency-Key: $key", 'Content-Type: application/json', ...$headers];
        for ($try = 1; ; $try++) {
            $answer = $this->send('POST', $path, $headers, json_encode($body, JSON_THROW_ON_ERROR), $timeoutS);
            // 2, 41 and no answer of the gateway: this request did nothing, or nobody knows. The same again is safe under its key.
            $isLost = $answer === null || in_array($answer['errorCode'], [2, 41], true);
            if (!$isLost || $try === 5) {
                return $answer ?? ['errorCode' => 3, 'errorMessage' => 'No answer.'];
            }
            sleep($try);
        }
    }

    public function get(string $path, array $query): array
    {
        $answer = $this->send('GET', $path . '?' . http_build_query($query), [], null, 45);
        return $answer ?? ['errorCode' => 3, 'errorMessage' => 'No answer.'];
    }

    /** Asks until the outcome is known. It starts nothing. */
    public function waitFor(array $name, int $patienceS = 360): array
    {
        for ($waited = 0; ; $waited++) {
            $answer = $this->get('Device/Operation/Status', $name);
            if (!in_array($answer['errorCode'], [1, 2, 3, 41], true) || $waited >= $patienceS) {
                return $answer;
            }
            sleep(1);
        }
    }

    private function send(string $method, string $path, array $headers, ?string $body, int $timeoutS): ?array
    {
        $http = [
            'method' => $method,
            'header' => ["X-API-Key: {$this->apiKey}", ...$headers],
            'timeout' => $timeoutS,
            'ignore_errors' => true,
        ];
        $context = stream_context_create(['http' => $body === null ? $http : [...$http, 'content' => $body]]);
        $text = @file_get_contents("{$this->baseUrl}/$path", false, $context);
        $answer = $text === false ? null : json_decode($text, true);
        // An answer without errorCode is not from the gateway.
        return is_array($answer) && isset($answer['errorCode']) ? $answer : null;
    }
}

/** `report` is JSON in a text. */
function reportOf(array $answer): array
{
    return json_decode($answer['report'] ?? '{}', true, 512, JSON_THROW_ON_ERROR);
}

/** "35.5" is 3550: sums of amounts are whole numbers. */
function bani(string $amount): int
{
    [$lei, $rest] = [...explode('.', $amount), ''];
    return (int) $lei * 100 + (int) str_pad($rest, 2, '0');
}

function uuid(): string
{
    $bytes = random_bytes(16);
    $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
    $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
    return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
}
