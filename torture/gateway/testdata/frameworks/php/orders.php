<?php
// A client can also reach this file by its name.
if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    http_response_code(405);
    exit;
}
file_put_contents(getenv('ORDERS'), "order\n", FILE_APPEND);
http_response_code(201);
echo 'an order';
