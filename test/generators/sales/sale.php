<?php
// One sale by the client that openapi-generator makes for PHP: test/docs/generated-sales.server.test.ts runs it.
declare(strict_types=1);

namespace GuzzleHttp\Psr7 {
    // This version of the generator calls a function of Guzzle 6, which Guzzle 7 has as a method.
    function build_query(array $fields): string
    {
        return Query::build($fields);
    }
}

namespace {

use OpenAPI\Client\Api\FiscalModeApi;
use OpenAPI\Client\Api\POSModeApi;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model;

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(fn (string $class) => require __DIR__ . '/client/lib/' . strtr(substr($class, strlen('OpenAPI\\Client\\')), '\\', '/') . '.php');

[, $port, $key, $terminal, $register] = $argv;
$configuration = (new Configuration())->setHost("http://127.0.0.1:$port/tillgate")->setApiKey('X-API-Key', $key);
$number = trim((string) file_get_contents('/proc/sys/kernel/random/uuid'));
$pos = new POSModeApi(null, $configuration);

$paid = $pos->pay(new Model\PayRequest(['device_id' => $terminal, 'amount' => '35.50', 'document_nr' => $number]), "pay-$number");
$report = json_decode($paid->getReport());
echo "pay {$paid->getErrorCode()} {$paid->getState()} $report->amount\n";

$close = new Model\CloseDocRequest(['device_id' => $terminal, 'document_nr' => $number, 'operation_id' => $report->operationId]);
echo "close {$pos->closeDoc($close, "close-$number")->getErrorCode()}\n";

$receipt = new Model\FiscalReceipt([
    'uid' => $number,
    'items' => [new Model\Item(['name' => 'Coffee', 'quantity' => 1, 'price' => 35.5])],
    'payments' => [new Model\Payment(['payment_code' => 1, 'document_nr' => $number])],
]);
$print = new Model\ReceiptRequest(['device_id' => $register, 'receipt' => $receipt]);
echo 'print ', (new FiscalModeApi(null, $configuration))->printReceipt($print, "print-$number")->getErrorCode(), "\n";

$again = $pos->pay(new Model\PayRequest(['device_id' => $terminal, 'amount' => 35.5, 'document_nr' => $number]), "again-$number");
echo "again {$again->getErrorCode()} {$again->getState()}\n";
}
